import { RunCancelledError } from "@leasehold/session-runs";
import { refusal } from "../../../../lib/refusal.js";
import { runs } from "../../../../lib/sessions.js";
import { turn } from "../../../../lib/turn.js";

export async function POST(request, { params }) {
  const { id } = await params;
  const { prompt, onBusy } = await request.json().catch(() => ({}));
  if (typeof prompt !== "string") return Response.json({ message: "prompt must be a text" }, { status: 400 });
  const client = new AbortController();
  try {
    const run = await runs.start(id, { onBusy, signal: client.signal }); // refused before anything is streamed
    return new Response(streamOf(run, prompt, client), { headers: { "Content-Type": "application/x-ndjson" } });
  } catch (error) {
    return refusal(error);
  }
}

/** The run has begun, so that the turn must too, whether or not anybody reads: `start` runs at once. */
function streamOf(run, prompt, client) {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      const tell = (event) => client.signal.aborted || controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`));
      try {
        await turn(run, prompt, tell);
        await run.finish();
        if (!client.signal.aborted) controller.close();
      } catch (error) {
        await run.fail(error);
        controller.error(error);
      }
    },
    cancel() {
      client.abort(new RunCancelledError());
    },
  });
}
