import { isLeaseHeld } from "@leasehold/session-lease";
import { infoOf } from "../reference/driver.js";
import type { Mutant } from "./mutant.js";

/** Case 21, its second half: looking without touching. */
export const OBSERVE_MUTANTS: readonly Mutant[] = [
  {
    name: "inspect shows the dead",
    sentence: "Inspect shows the record, whether or not anybody holds it.",
    build: {
      driver: (inner, { authority }) => ({
        inspect: async (id, context) => {
          const live = await inner.inspect(id, context);
          const record = authority.peek(id);
          return live ?? (record && infoOf(id, record));
        },
      }),
    },
    fails: ["L05-inspect-at-expiry", "L21-inspect-free"],
  },
  {
    name: "inspect shows another owner",
    sentence: "Inspect shows who had the session before, if anybody had.",
    build: {
      driver: (inner) => ({
        inspect: async (id, context) => {
          const info = await inner.inspect(id, context);
          return info && { ...info, owner: `${info.owner} ` };
        },
      }),
    },
    fails: ["L05-inspect-at-expiry", "L21-inspect", "L21-list-shows"],
  },
  {
    name: "inspect sweeps",
    sentence: "Inspect removes a record that has expired.",
    build: {
      driver: (inner, { authority, clock }) => ({
        inspect: (id, context) => {
          if ((authority.peek(id)?.expiry ?? Number.POSITIVE_INFINITY) <= clock.wall()) authority.put(id, undefined);
          return inner.inspect(id, context);
        },
      }),
    },
    fails: ["L21-inspect-writes-nothing"],
  },
  {
    name: "inspect tries",
    sentence: "Inspect finds out whether a session is free by acquiring it, and releases it again.",
    build: {
      lease: (inner) => ({
        inspect: async (id, options) => {
          const info = await inner.inspect(id, options);
          try {
            await inner.release(await inner.acquire(id, "an observer"));
          } catch (error) {
            if (!isLeaseHeld(error)) throw error;
          }
          return info;
        },
      }),
    },
    fails: ["L21-inspect-writes-nothing"],
  },
  {
    name: "list shows the dead",
    sentence: "List shows every record.",
    build: {
      driver: (_inner, { authority }) => ({
        list: () => ({ leases: authority.scan().map(({ sessionId, record }) => infoOf(sessionId, record)) }),
      }),
    },
    fails: ["L21-list-live", "L21-list-order", "L21-list-pages", "L21-list-after"],
  },
  {
    name: "list out of order",
    sentence: "List is ordered by UTF-16 units.",
    build: {
      driver: (inner) => ({
        list: async (page, context) => {
          const { leases, ...rest } = await inner.list(page, context);
          return { ...rest, leases: [...leases].sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1)) };
        },
      }),
    },
    fails: ["L21-list-order"],
  },
  {
    name: "a page after the last",
    sentence: "A full page always announces another.",
    build: {
      driver: (inner) => ({
        list: async (page, context) => {
          const { leases } = await inner.list(page, context);
          const last = leases.at(-1);
          return leases.length === page.limit && last !== undefined ? { leases, next: last.sessionId } : { leases };
        },
      }),
    },
    fails: ["L21-list-pages"],
  },
  {
    name: "pages that overlap",
    sentence: "A page begins with the session that the last one ended with.",
    build: {
      driver: (inner) => ({
        list: async (page, context) => {
          const all = await inner.list({ limit: 1000 }, context);
          const rest = all.leases.filter(({ sessionId }) => page.after === undefined || sessionId >= page.after);
          const leases = rest.slice(0, page.limit);
          const last = leases.at(-1);
          return rest.length > page.limit && last !== undefined ? { leases, next: last.sessionId } : { leases };
        },
      }),
    },
    fails: ["L21-list-pages"],
  },
  {
    name: "after what exists",
    sentence: "After a session that is not there, a page begins at the beginning.",
    build: {
      driver: (inner, { authority }) => ({
        list: ({ after, limit }, context) =>
          inner.list({ limit, ...(after !== undefined && authority.peek(after) && { after }) }, context),
      }),
    },
    fails: ["L21-list-after"],
  },
  {
    name: "list in short",
    sentence: "List leaves out the metadata.",
    build: {
      driver: (inner) => ({
        list: async (page, context) => {
          const { leases, ...rest } = await inner.list(page, context);
          return { ...rest, leases: leases.map((lease) => ({ ...lease, metadata: {} })) };
        },
      }),
    },
    fails: ["L21-list-shows", "L23-metadata"],
  },
  {
    name: "one domain for all",
    sentence: "The domain is the name of the adapter.",
    build: { driver: (inner) => ({ domain: () => inner.name }) },
    fails: ["L21-domain"],
  },
  {
    name: "a domain for each",
    sentence: "The domain is made up by every lease that is opened.",
    build: {
      driver: () => {
        const domain = `domain ${Math.random()}`;
        return { domain: () => domain };
      },
    },
    fails: ["L21-domain-shared"],
  },
];
