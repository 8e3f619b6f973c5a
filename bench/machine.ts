import { arch, cpus, totalmem } from 'node:os';

/** The machine that figures were measured on. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown processor'} (${arch()}), ${memory} GiB, Node ${process.versions.node}`;
}
