import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A program of another language, which the README's commands do not need and `npm ci` does not install. */
export interface ForeignTool {
  program: string;
  /** The command that installs the version that the forge's jobs run. */
  installation: string;
}

/**
 * Runs an installed program on this terminal, and ends with its exit code: 127 if it is not installed, with the command that
 * installs it.
 */
export async function runTool(
  { program, installation }: ForeignTool,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    process.exitCode = code ?? 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    console.error(`${program} is not installed. Install it: ${installation}`);
    process.exitCode = 127;
  }
}
