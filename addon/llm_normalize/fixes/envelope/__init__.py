"""What surrounds the choices: id, model, created."""
