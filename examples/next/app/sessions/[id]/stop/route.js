import { refusal } from "../../../../lib/refusal.js";
import { runs } from "../../../../lib/sessions.js";

export async function POST(_request, { params }) {
  try {
    const outcome = await runs.cancel((await params).id);
    return Response.json({ outcome }, { status: outcome === "none" ? 409 : 202 });
  } catch (error) {
    return refusal(error);
  }
}
