/**
 * Where the log goes: standard error, written in the background. A pipe that nobody empties would otherwise stop this whole
 * process inside a write, its renewals included, and any agent could fill the pipe by what it says on its standard error.
 *
 * States: *writing*, and *failing* from a write that the system refused (a full disk, say) to the next that succeeds. What
 * cannot be written is no reason to end. While it fails, exit does not wait for it: the library would try again for ever.
 */

import { type DestinationStream, pino } from "pino";

/** Bytes of log that may wait for a reader; what comes beyond is dropped. */
const MAX_WAITING = 8 * 1_048_576;

export function logDestination(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: false, maxLength: MAX_WAITING });
  const flushSync = stream.flushSync.bind(stream);
  let failing = false;
  stream.on("error", () => {
    failing = true;
  });
  stream.on("write", () => {
    failing = false;
  });
  stream.flushSync = () => {
    if (!failing) flushSync();
  };
  return stream;
}
