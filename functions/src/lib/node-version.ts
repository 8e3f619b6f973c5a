/**
 * Returns what to say where the Node that runs this is too old for it. npm scripts bring their own
 * (CONTRIBUTING.md), but Firebase's emulators, say, run the functions on the machine's.
 */
export function findNodeProblem(): string | undefined {
  const { node } = process.versions;
  return Number.parseInt(node) < 22 ? `This needs Node 22 or later, but Node ${node} runs it.` : undefined;
}
