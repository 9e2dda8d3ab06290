/**
 * Requests and replies between processes. What may befall a message is asked of the weather, message by message; the order
 * in which messages arrive is the order of their delays, so that two of one sender may overtake each other.
 */

import type { SimProcess } from "./sim-process.js";
import type { Timeline } from "./timeline.js";

export type Fate = Readonly<{
  /** Ms on the way there, and back. */
  there: number;
  back: number;
  dropRequest: boolean;
  dropReply: boolean;
  duplicate: boolean;
  /** Ms from the first arrival to the second. */
  again: number;
}>;

export interface Weather {
  fateOf(sender: SimProcess): Fate;
}

export type Message<T> = Readonly<{
  /** Whom it concerns, for whoever asks later whether one was lost. */
  subject: string;
  /** What the server does with it. */
  handle: () => Promise<T>;
  /** What the server does with it when it comes a second time. Nobody hears the answer. */
  repeat: () => Promise<unknown>;
}>;

export class Network {
  readonly #timeline: Timeline;
  readonly #weather: Weather;
  /** Subjects of which a request or a reply never arrived, or a request arrived twice. */
  readonly disturbed: Set<string> = new Set();

  constructor(timeline: Timeline, weather: Weather) {
    this.#timeline = timeline;
    this.#weather = weather;
  }

  /** Never settles if the request or the reply is lost, or the server dies meanwhile. */
  send<T>(sender: SimProcess, server: () => SimProcess, message: Message<T>): Promise<T> {
    const fate = this.#weather.fateOf(sender);
    return new Promise<T>((resolve, reject) => {
      const reply = (deliver: () => void): void => {
        if (fate.dropReply) this.disturbed.add(message.subject);
        else this.#timeline.after(fate.back, () => sender.deliver(deliver));
      };
      const arrive = (): void => {
        const target = server();
        if (target.isDead) this.disturbed.add(message.subject);
        target.deliver(() => {
          message.handle().then(
            (value) => reply(() => resolve(value)),
            (error: unknown) => reply(() => reject(error)),
          );
        });
      };
      const arriveAgain = (): void => server().deliver(() => void message.repeat().catch(() => undefined));
      if (fate.dropRequest) this.disturbed.add(message.subject);
      else this.#timeline.after(fate.there, arrive);
      if (!fate.duplicate || fate.dropRequest) return;
      this.disturbed.add(message.subject);
      this.#timeline.after(fate.there + fate.again, arriveAgain);
    });
  }
}
