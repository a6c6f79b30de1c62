// The worker of the page: opens the model, then answers calls of the methods of `Explorer`.

import { Explorer } from "./explorer.js";

/** Fetches a file of the site, and reports how much of it has arrived. */
const fetchFile = (path) => fetched(path).catch((error) => Promise.reject(new Error(`${path}: ${error.message}`)));

async function fetched(path) {
  const response = await fetch(new URL(`../${path}`, import.meta.url));
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const total = Number(response.headers.get("Content-Length"));
  const chunks = [];
  let received = 0;
  let reported = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    received += value.length;
    if (received - reported < total / 20 || received > total) continue;
    reported = received;
    postMessage({ progress: { path, received, total } });
  }
  postMessage({ progress: { path, received, total: received } }); // a server that compresses has sent another length
  return joined(chunks, received);
}

function joined(chunks, length) {
  const bytes = new Uint8Array(length);
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes.buffer;
}

const opened = Explorer.open(fetchFile);

addEventListener("message", async ({ data: { id, method, argument } }) => {
  try {
    const explorer = await opened;
    postMessage({ id, result: await explorer[method](argument) });
  } catch (error) {
    postMessage({ id, error: String(error.message ?? error) });
  }
});
