import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A job of a workflow, with the scripts of its steps. */
export interface Job {
  steps: { run?: string }[];
}

/** Reads a job of `.github/workflows`. */
export function readJob(workflow: string, name: string): Job {
  const { jobs } = parse(readFileSync(`.github/workflows/${workflow}.yml`, 'utf8')) as { jobs: Record<string, Job> };
  const job = jobs[name];
  if (job === undefined) throw new Error(`${workflow}.yml has no job ${name}`);
  return job;
}
