// A client on the command line, run without a terminal, in folders of its own.

import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

// Where nothing listens: no program asks anybody but the tests' own proxy.
const NOWHERE = { HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };

/**
 * Runs `prepare(home)`, which returns variables, then the program; returns what it says.
 *
 * What it says are lines of JSON on stdout, and what `log(home)` reads of its files then.
 */
export async function run(program, args, { outcome }, prepare, log = () => "") {
  const folder = await mkdtemp(join(tmpdir(), "client-"));
  const [home, cwd] = [join(folder, "home"), join(folder, "work")];
  await mkdir(home);
  await mkdir(cwd);
  try {
    const variables = await prepare(home);
    const { PATH, SystemRoot } = process.env;
    const child = spawn(
      process.execPath,
      // Not every package exports its program.
      [fileURLToPath(new URL(`node_modules/${program}`, import.meta.url)), ...args],
      {
        cwd,
        env: {
          ...{ PATH, SystemRoot, HOME: home, USERPROFILE: home },
          ...NOWHERE,
          ...variables,
        },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: 60_000,
      },
    );
    const ended = new Promise((resolve, reject) =>
      child.on("error", reject).on("close", resolve),
    );
    const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
    outcome.exit = await ended;
    outcome.complaints = complaints;
    return [said, await log(home)]
      .join("\n")
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
