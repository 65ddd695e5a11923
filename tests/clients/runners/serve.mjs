// What every Node client's program shares: cases in on stdin, reports out on stdout.
// It runs in the client's own environment, so it imports nothing but what Node has.

import { text } from "node:stream/consumers";

const CLIENTS = new Map();

/**
 * Names a function (base URL, request, report) that fills the report as it reads.
 *
 * `report.outcome` is what the caller has in the end, `report.events` how he got it.
 * What he had before an error stays. The tests read the names from the source: one
 * `client("name", "what it is",` a line.
 */
export function client(name, what, read) {
  CLIENTS.set(name, read);
}

/** Likewise, of clients that ask by another protocol than chat completions. */
export { client as messages, client as responses };

/** Returns what is to be filled with one answer of a conversation. */
export function beginTurn({ outcome }) {
  const turn = { text: "", reasoning: "", calls: [], finish: null };
  (outcome.turns ??= []).push(turn);
  return turn;
}

/** Returns what an error says; of an HTTP error what a caller can look up. */
export function wordsOf(error) {
  const said = {
    name: error.name,
    message: error.message,
    status: error.status ?? error.statusCode,
    type: error.type,
    code: error.code,
    param: error.param,
    body: error.error ?? error.responseBody,
    retryable: error.isRetryable,
    cause: error.cause?.message,
  };
  try {
    said.body = JSON.parse(said.body); // how it is spaced is nobody's business
  } catch {}
  return said;
}

/** Returns an error as a report has it. */
export function failure(error) {
  return error instanceof Error
    ? [error.constructor.name, wordsOf(error)]
    : ["not an Error", error];
}

/** Lets libraries draw the same lots in each case: some make up ids of calls. */
function drawAgain() {
  let lot = 1;
  Math.random = () => (lot = (lot * 16807) % 2147483647) / 2147483647;
  const digits = () => Math.floor(Math.random() * 1e12).toString(16).padStart(12, "0");
  crypto.randomUUID = () => `00000000-0000-4000-8000-${digits()}`;
}

async function reportOf({ client, url, request }, stray) {
  const report = { outcome: {}, events: [] };
  drawAgain();
  let giveUp;
  const stuck = new Promise((_, reject) => {
    giveUp = () => reject(new Error("nothing is left that could end it"));
  });
  process.once("beforeExit", giveUp); // a promise alone does not keep Node running
  try {
    await Promise.race([CLIENTS.get(client)(url, request, report), stuck]);
  } catch (error) {
    report.outcome.error = failure(error);
  } finally {
    process.off("beforeExit", giveUp);
  }
  // A rejection that nobody takes ends the caller's program: it is known a turn later.
  await new Promise((done) => setTimeout(done));
  const unhandled = stray.splice(0).map(failure);
  if (unhandled.length) report.outcome.unhandled = unhandled;
  return report;
}

/**
 * Serves the cases, one after another; several at once where each is a program that waits.
 *
 * Those must not change what they share, nor leave a promise unhandled.
 */
export async function serve(atOnce = 1) {
  const stray = [];
  process.on("unhandledRejection", (error) => stray.push(error));
  const cases = JSON.parse(await text(process.stdin)).entries();
  const reports = [];
  const serveSome = async () => {
    for (const [place, each] of cases) reports[place] = await reportOf(each, stray);
  };
  await Promise.all(Array.from({ length: atOnce }, serveSome));
  // Connections that are kept would hold it.
  process.stdout.write(JSON.stringify(reports), () => process.exit());
}

// A library may print, and stdout is for the reports.
console.log = console.info = console.debug = console.error;
