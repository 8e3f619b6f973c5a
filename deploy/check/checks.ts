import { checkKeyLines, checkKeyNames, checkPlainKeys } from './api-keys';
import type { Deployment } from './deployment';
import { GoogleRequestError, type AskGoogle } from './google-api';
import { checkPause, listParameters } from './parameters';
import type { Requirement } from './requirement';

/** The result of one check. `fix` is the command or step that solves the problem. A warning stops no deployment. */
export type Finding =
  | { subject: string; kind: 'ok' }
  | { subject: string; kind: 'missing' | 'warning'; detail: string; fix: string }
  | { subject: string; kind: 'unknown'; detail: string };

/** Checks every requirement. Changes nothing. */
export function runChecks(deployment: Deployment, ask: AskGoogle): Promise<Finding[]> {
  const { projectId, parameters } = deployment;
  const requirements = [...listParameters(deployment), checkKeyLines(projectId, ask)];
  const warnings = [checkPlainKeys(projectId, ask), checkKeyNames(projectId, ask), checkPause(parameters)];
  return Promise.all([
    ...requirements.map((each) => check(each, 'missing')),
    ...warnings.map((each) => check(each, 'warning')),
  ]);
}

async function check([subject, findProblem]: Requirement, kind: 'missing' | 'warning'): Promise<Finding> {
  try {
    const problem = await findProblem();
    if (problem === undefined) return { subject, kind: 'ok' };
    if ('fact' in problem) return { subject: `${subject}: ${problem.fact}`, kind: 'ok' };
    const [detail, fix] = problem;
    return { subject, kind, detail, fix };
  } catch (error) {
    if (error instanceof GoogleRequestError) return { subject, kind: 'unknown', detail: error.message };
    throw error;
  }
}
