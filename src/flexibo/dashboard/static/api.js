// Asking the server. Whatever goes wrong is one sentence.

/** An answer that is no answer, in a sentence. */
export class Refusal extends Error {}

const AWAY = "The dashboard cannot be reached; it may have been ended.";

const asked = async (path, signal) => {
  try {
    return await fetch(path, { signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(AWAY);
  }
};

const read = async (response) => {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(AWAY);
  }
};

/** What the server says at an address. */
export const ask = async (path, signal) => {
  const response = await asked(path, signal);
  const body = await read(response);
  if (!response.ok) throw new Refusal(String(body.error ?? "The dashboard could not answer."));
  return body;
};

/** A picture, unless the newest one is what the page has: {view, version, again}. */
export const askPicture = async (path, have, signal) => {
  const query = have === null ? "" : `${path.includes("?") ? "&" : "?"}have=${encodeURIComponent(have)}`;
  const response = await asked(path + query, signal);
  const wait = Number.parseFloat(response.headers.get("X-Flexibo-Again"));
  const again = Number.isFinite(wait) ? wait : null;
  if (response.status === 204) return { view: null, version: have, again };
  const body = await read(response);
  if (!response.ok) throw new Refusal(String(body.error ?? "The dashboard could not answer."));
  return { view: body, version: response.headers.get("X-Flexibo-Version"), again };
};
