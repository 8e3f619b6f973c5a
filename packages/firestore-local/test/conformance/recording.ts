import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { Answer, Operation } from './sequence';

/** A sequence with the answers of Google's emulator. */
export interface RecordedSequence {
  /** The scripted case; random sequences have none. */
  readonly title?: string;
  readonly operations: readonly Operation[];
  readonly answers: readonly Answer[];
}

/** What Google's emulator answered: its version, the seed of the random sequences, the day. */
export interface Recording {
  readonly emulator: string;
  readonly seed: number;
  readonly date: string;
  readonly sequences: readonly RecordedSequence[];
}

/** The recording of this repository. It holds requests beside answers, so it stays valid whatever becomes of the generator. */
export const RECORDING = 'packages/firestore-local/test/conformance/recording.jsonl.br';

/** Writes a header and one line a sequence, compressed. */
export function writeRecording(file: string, { sequences, ...header }: Recording): void {
  const lines = [header, ...sequences].map((line) => JSON.stringify(line));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  };
  writeFileSync(file, brotliCompressSync(lines.join('\n'), { params }));
}

/** Reads a recording. */
export function readRecording(file: string): Recording {
  const [header = '', ...lines] = brotliDecompressSync(readFileSync(file)).toString().split('\n');
  return {
    ...(JSON.parse(header) as Omit<Recording, 'sequences'>),
    sequences: lines.map((line) => JSON.parse(line) as RecordedSequence),
  };
}
