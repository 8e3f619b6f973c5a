import type { parseArgs, ParseArgsConfig } from 'node:util';

export function readArguments<const T extends ParseArgsConfig>(
  usage: string,
  config?: T,
): Pick<ReturnType<typeof parseArgs<T>>, 'values' | 'positionals'>;

export function endWithMessage(): void;

export function refuseArguments(message: string, usage: string): never;
