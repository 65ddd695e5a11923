"""Events of any protocol but chat: their names, and what does not belong there."""
