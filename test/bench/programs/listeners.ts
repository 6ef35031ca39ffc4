import { connect, type Socket } from "node:net";
import { sharedMs } from "./clock.ts";
import { serve } from "./program.ts";

/** `subscriptions/listen` streams of one replica, which note how old each frame is when it comes. */
const sockets: Socket[] = [];
let ages: number[] = [];

const AT = /"statusMessage":"at ([\d.]+)"/g;
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

function open(port: number, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    sockets.push(socket);
    let text = "";
    let isOpen = false;
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const end = text.lastIndexOf("\n\n");
      if (end < 0) return;
      const whole = text.slice(0, end);
      text = text.slice(end + 2);
      if (!isOpen && whole.includes(ACKNOWLEDGED)) {
        isOpen = true;
        resolve();
      }
      const now = sharedMs();
      for (const [, at] of whole.matchAll(AT)) ages.push(now - Number(at));
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`A stream was refused: ${text}`)));
    socket.write(request);
  });
}

serve({
  async open({ port, requests }: { readonly port: number; readonly requests: readonly string[] }) {
    for (let first = 0; first < requests.length; first += 50) {
      await Promise.all(requests.slice(first, first + 50).map((request) => open(port, request)));
    }
  },
  close() {
    for (const socket of sockets.splice(0)) socket.destroy();
  },
  count: () => ages.length,
  takeAges() {
    const taken = ages;
    ages = [];
    return taken;
  },
});
