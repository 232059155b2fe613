/** A network between the browser and the gateway that can be cut or frozen: a TCP proxy on the loopback address. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Network {
  private readonly sockets = new Set<Socket>();

  private constructor(private server: Server, private readonly target: URL, private readonly port: number) {}

  /** Address at which the target is reached over this network: of the same name, for which the browser has the cookie. */
  get address(): string {
    const address = new URL(this.target);
    address.port = String(this.port);
    return address.origin;
  }

  static async to(target: string): Promise<Network> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const network = new Network(server, new URL(target), (server.address() as AddressInfo).port);
    network.serve();
    return network;
  }

  /** Ends all connections and refuses others. */
  async cut(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Lets nothing through any more and closes nothing, as a link that is gone or a laptop that sleeps: neither end is told. */
  freeze(): void {
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  async restore(): Promise<void> {
    this.server = createServer();
    this.serve();
    await new Promise<void>((resolve) => this.server.listen(this.port, "127.0.0.1", resolve));
  }

  private serve(): void {
    this.server.on("connection", (browser) => {
      const gateway = connect(Number(this.target.port), "127.0.0.1");
      for (const [from, to] of [[browser, gateway], [gateway, browser]] as const) {
        this.sockets.add(from);
        from.pipe(to);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.sockets.delete(from);
          to.destroy();
        });
      }
    });
  }
}
