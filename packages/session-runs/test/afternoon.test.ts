/**
 * Seeded afternoons: two processes, one session, and whatever comes: prompts that reject, wait and interrupt, callers that go
 * away, stop buttons, agents that end soon, late, only when told, or not even then. At every moment one run is inside; in a
 * process nobody overtakes; in the end everybody was served or told, and the session is free.
 */

import { isLeaseAborted } from "@leasehold/session-lease";
import { describe, expect, it } from "vitest";
import {
  DrainError,
  findRunError,
  type OnBusy,
  ReleaseRequestedError,
  type Run,
  RunCancelledError,
  SessionBusyError,
  SessionLeasedElsewhereError,
  type SessionRuns,
} from "../src/index.js";
import { Stage } from "./stage.js";

const SEEDS = 60;
const STEPS = 40;

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Prompt = {
  readonly server: number;
  readonly onBusy: OnBusy;
  readonly deadline: number;
  readonly client: AbortController;
  state: "waiting" | "inside" | "gone";
  end: unknown;
};

class Afternoon {
  readonly stage = new Stage({ reportsExpiry: true });
  readonly prompts: Prompt[] = [];
  readonly tokens: bigint[] = [];
  readonly faults: string[] = [];
  readonly #servers: SessionRuns[];
  readonly #random: () => number;
  readonly #outcomes: Promise<void>[] = [];
  #inside: Prompt | undefined;

  constructor(seed: number) {
    this.#random = randomOf(seed);
    this.#servers = [0, 1].map(() => this.stage.server({ random: this.#random }));
  }

  async play(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      this.#act();
      if (this.#chance(0.6)) await this.stage.clock.advance(Math.floor(this.#random() * 800));
    }
    // Nobody comes any more: whoever waits is served or told, whoever is inside ends or is told.
    await this.stage.clock.advance(10_000);
    const drained = this.#servers.map((server) => server.drain(0));
    await this.stage.clock.advance(10_000);
    await Promise.all([...drained, ...this.#outcomes]);
  }

  get free(): boolean {
    return this.#servers.every((server) => server.active().length === 0 && server.stats().waiting === 0);
  }

  #act(): void {
    const pick = this.#random();
    const server = this.#servers[this.#chance(0.5) ? 0 : 1] as SessionRuns;
    if (pick < 0.7) this.#prompt(this.#servers.indexOf(server));
    else if (pick < 0.85) void server.cancel("s");
    else this.prompts[Math.floor(this.#random() * this.prompts.length)]?.client.abort("gone");
  }

  #prompt(server: number): void {
    const onBusy = (["reject", "wait", "wait", "interrupt"] as const)[Math.floor(this.#random() * 4)] as OnBusy;
    const waitMs = Math.floor(this.#random() * 6_000);
    const deadline = this.stage.clock.monotonic() + waitMs;
    const client = new AbortController();
    const prompt: Prompt = { server, onBusy, deadline, client, state: "waiting", end: undefined };
    this.prompts.push(prompt);
    const lasts = this.#random() * 1_500;
    const isStubborn = this.#chance(0.2);
    const outcome = (this.#servers[server] as SessionRuns).run("s", { onBusy, waitMs, signal: client.signal }, (run) =>
      this.#drive(prompt, run, lasts, isStubborn),
    );
    this.#outcomes.push(
      outcome.then(
        () => {
          prompt.state = "gone";
        },
        (error: unknown) => {
          if (prompt.state === "inside") this.faults.push(`a run that began was refused: ${error}`);
          prompt.state = "gone";
          prompt.end = error;
        },
      ),
    );
  }

  async #drive(prompt: Prompt, run: Run, lasts: number, isStubborn: boolean): Promise<void> {
    if (this.#inside !== undefined) this.faults.push("two are inside");
    const now = this.stage.clock.monotonic();
    const overtaken = this.prompts
      .slice(0, this.prompts.indexOf(prompt))
      .filter(
        ({ server, state, client, deadline, onBusy }) =>
          server === prompt.server &&
          state === "waiting" &&
          onBusy !== "reject" &&
          !client.signal.aborted &&
          deadline > now,
      );
    if (overtaken.length > 0) this.faults.push(`${overtaken.length} were overtaken`);
    this.#inside = prompt;
    prompt.state = "inside";
    this.tokens.push(run.token as bigint);
    await this.#pause(lasts, isStubborn ? undefined : run.signal);
    run.assertHeld();
    this.#inside = undefined;
    prompt.state = "gone";
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.stage.clock.schedule(resolve, ms);
      signal?.addEventListener("abort", () => resolve(), { once: true });
      if (signal?.aborted === true) resolve();
    });
  }

  #chance(of: number): boolean {
    return this.#random() < of;
  }
}

const ANSWERS = [
  SessionBusyError,
  SessionLeasedElsewhereError,
  RunCancelledError,
  ReleaseRequestedError,
  DrainError,
] as const;

describe("an afternoon", () => {
  it("never has two inside, nobody overtaken, and nobody forgotten", { timeout: 60_000 }, async () => {
    let served = 0;
    const answered = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const afternoon = new Afternoon(seed);
      await afternoon.play();
      const { prompts, tokens, faults } = afternoon;
      expect([seed, faults, afternoon.free]).toEqual([seed, [], true]);
      expect(prompts.every(({ state }) => state === "gone")).toBe(true);
      expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] as bigint))).toBe(true);
      for (const { end } of prompts.filter(({ end }) => end !== undefined)) {
        const known = isLeaseAborted(end) || ANSWERS.some((Answer) => end instanceof Answer);
        expect([seed, end, known]).toEqual([seed, end, true]);
        answered.add(findRunError(end)?.code ?? "aborted");
      }
      served += tokens.length;
    }
    expect(served).toBeGreaterThan(5 * SEEDS);
    // Every answer there is was given.
    expect(answered).toEqual(
      new Set(["session_busy", "session_leased_elsewhere", "run_cancelled", "release_requested", "aborted"]),
    );
  });
});
