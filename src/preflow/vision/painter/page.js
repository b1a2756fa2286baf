// The page of the server: paint.js with requests over HTTP.
import { mount, unpackReply } from "./paint.js";

async function post(path, body) {
  const response = await fetch(path, { method: "POST", body });
  if (response.status === 400) {
    throw Object.assign(new Error((await response.json()).error), { refused: true });
  }
  if (!response.ok) {
    throw new Error(`status ${response.status}`);
  }
  return response;
}

const transport = {
  async ask(message) {
    const response = await post("ask", JSON.stringify(message));
    return unpackReply(await response.arrayBuffer());
  },
  async upload(file) {
    await post(`upload?name=${encodeURIComponent(file.name)}`, file);
  },
};

window.preflowPaint = mount(document.getElementById("paint"), transport, { page: true });
