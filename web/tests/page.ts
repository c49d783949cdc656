/** What the page's modules expect of a browser, for tests without one; imported before them. */

const sent: string[] = [];

class Socket {
  static readonly OPEN = 1;
  static last: Socket | null = null;
  binaryType = "";
  readyState = 1;
  private readonly listeners: { [name: string]: ((event: unknown) => void)[] } = {};

  constructor(readonly url: string) {
    Socket.last = this;
  }

  addEventListener(name: string, listener: (event: unknown) => void): void {
    (this.listeners[name] ??= []).push(listener);
  }

  set onopen(listener: (event: unknown) => void) {
    this.addEventListener("open", listener);
  }

  set onmessage(listener: (event: unknown) => void) {
    this.addEventListener("message", listener);
  }

  set onclose(listener: (event: unknown) => void) {
    this.addEventListener("close", listener);
  }

  set onerror(listener: (event: unknown) => void) {
    this.addEventListener("error", listener);
  }

  send(text: string): void {
    sent.push(text);
  }

  close(): void {
    this.emit("close", {});
  }

  emit(name: string, event: unknown): void {
    for (const listener of this.listeners[name] ?? []) listener(event);
  }
}

const page = {
  innerWidth: 1280,
  innerHeight: 800,
  location: { href: "http://127.0.0.1:1/", host: "127.0.0.1:1", protocol: "http:", search: "", pathname: "/" },
  setTimeout: (act: () => void, milliseconds: number) => setTimeout(act, Math.min(milliseconds, 20)),
  clearTimeout: (timer: number) => clearTimeout(timer),
  addEventListener: () => undefined,
  requestAnimationFrame: () => 0,
};
Object.assign(globalThis, { window: page, location: page.location, WebSocket: Socket });

/** The requests that were sent, oldest first; they are forgotten. */
export function requests(): { id: number; do: string; [argument: string]: unknown }[] {
  return sent.splice(0).map((text) => JSON.parse(text) as { id: number; do: string });
}

/** The server says something. */
export function hear(message: object | ArrayBuffer): void {
  Socket.last?.emit("message", { data: message instanceof ArrayBuffer ? message : JSON.stringify(message) });
}

export function connect(): void {
  Socket.last?.emit("open", {});
}

/** Time for promises and short timers. */
export function pause(milliseconds = 30): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
