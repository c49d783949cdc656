/** The websocket: requests with their replies, events, and arrays taken out of binary messages without copying. */

import type { BinaryHeader, Commands, Event, Json, Reply, Trouble } from "./protocol";

export type Numbers = Float32Array | Uint32Array | Uint16Array;
export type Arrays = { [name: string]: Numbers };

export interface Listener {
  event(event: Event): void;
  binary(header: BinaryHeader, arrays: Arrays): void;
  connected(open: boolean): void;
}

const KINDS = { float32: Float32Array, uint32: Uint32Array, uint16: Uint16Array };
const LOST: Trouble = {
  message: "The connection to the server was lost before it answered",
  hint: "the page connects again by itself; if it does not, start `understudy studio` again",
};

/** An address of the server, with the token where the page itself was opened with one. */
export function address(path: string): string {
  const url = new URL(path, window.location.href);
  const token = new URLSearchParams(window.location.search).get("token");
  if (token !== null && !url.searchParams.has("token")) url.searchParams.set("token", token);
  return url.href;
}

/** The header and the arrays of a binary message; the arrays look into the message's own memory. */
export function unpack(message: ArrayBuffer): [BinaryHeader, Arrays] {
  const length = new DataView(message).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length))) as BinaryHeader;
  const arrays: Arrays = {};
  let offset = 4 + length;
  for (const { name, type, shape } of header.arrays) {
    const array = new KINDS[type](
      message,
      offset,
      shape.reduce((product, size) => product * size, 1),
    );
    arrays[name] = array;
    offset += Math.ceil(array.byteLength / 8) * 8;
  }
  return [header, arrays];
}

interface Waiting {
  resolve(value: never): void;
  reject(trouble: Trouble): void;
}

export class Connection {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  private pause = 250;

  constructor(private listener: Listener) {}

  open(): void {
    const url = new URL(address("live"));
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.pause = 250;
      this.listener.connected(true);
    };
    socket.onmessage = (message) => this.receive(message.data);
    socket.onclose = () => this.lost();
    this.socket = socket;
  }

  send<K extends keyof Commands>(command: K, args: Commands[K][0]): Promise<Commands[K][1]> {
    const { socket } = this;
    if (!socket || socket.readyState !== WebSocket.OPEN) return Promise.reject(LOST);
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      socket.send(JSON.stringify({ ...args, id, do: command }));
    });
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data !== "string") return this.listener.binary(...unpack(data));
    const message = JSON.parse(data) as Reply | Event;
    if (!("re" in message)) return this.listener.event(message);
    const waiting = this.waiting.get(message.re);
    this.waiting.delete(message.re);
    if (message.ok) waiting?.resolve((message.value ?? null) as Json as never);
    else waiting?.reject(message.error ?? { message: "The server refused and did not say why", hint: "" });
  }

  private lost(): void {
    this.listener.connected(false);
    for (const { reject } of this.waiting.values()) reject(LOST);
    this.waiting.clear();
    window.setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, 4000);
  }
}
