import { audit, type AuditReport } from '../../audit/audit';
import type { Violation } from '../../audit/violation';
import { formatCommand, formatDocumentCommand } from '../format';
import type { TargetOptions } from '../target';
import { count, escapeControls, formatNumber, quote, quoteId } from '../text';
import { toJsonLine, type CommandContext } from './context';

export interface AuditCommandOptions {
  sample: number;
  full?: true;
  json?: true;
}

/** How often a terminal shows the progress. */
const PROGRESS_MS = 5_000;

/** @returns exit code: 1 if there is a violation, otherwise 0 */
export async function auditRecords(
  { sample, full, json }: AuditCommandOptions,
  context: CommandContext,
): Promise<number> {
  const { terminal, db, workContext, targetOptions } = context;
  const startedAt = workContext.clock.elapsedMs();
  const sampleSize = full === true ? Infinity : sample;
  const format = json === true ? toViolationLine : formatViolation;
  const onViolation = (violation: Violation) => terminal.print(format(violation, targetOptions));
  let shownAt = startedAt;
  // Shows progress, because an audit can run for many minutes without printing a violation.
  const onRead = (documentReads: number) => {
    if (terminal.streams.stderr.isTTY !== true || workContext.clock.elapsedMs() - shownAt < PROGRESS_MS) return;
    shownAt = workContext.clock.elapsedMs();
    terminal.printError(`${count(documentReads, 'document read')} so far\n`);
  };
  const report = await audit(db, workContext, sampleSize, onViolation, onRead);
  const duration_ms = Math.round(workContext.clock.elapsedMs() - startedAt);
  if (json === true) terminal.print(toJsonLine(createSummary(report, duration_ms)));
  else terminal.print(formatReport(report, sampleSize));
  return report.violations === 0 ? 0 : 1;
}

/** Returns a line for the log of a scheduled audit, without product ids (docs/operations.md#audit). */
function toViolationLine(violation: Violation, targetOptions: TargetOptions): string {
  const { rule, boq_list_id, path, message } = violation;
  const command = getCommand(violation, targetOptions);
  const text = `${path} ${message}`;
  return toJsonLine({ severity: 'ERROR', message: text, event: 'audit_violation', rule, boq_list_id, path, command });
}

function createSummary(report: AuditReport, duration_ms: number) {
  const severity = report.violations > 0 ? 'ERROR' : 'INFO';
  const message = `${count(report.keys, 'key')} audited, ${count(report.violations, 'violation')}`;
  return { severity, message, event: 'audit_completed', ...report, duration_ms };
}

function formatViolation(violation: Violation, targetOptions: TargetOptions): string {
  const { boq_list_id, path, message, products = [] } = violation;
  const key = boq_list_id === null ? '' : `${quoteId(boq_list_id)}: `;
  const examples = products.length === 0 ? '' : `, such as ${products.map(quote).join(', ')}`;
  const command = getCommand(violation, targetOptions);
  const more = command === null ? '' : ` More: ${command}`;
  return `${key}${escapeControls(path)} ${message}${examples}.${more}\n`;
}

/**
 * Returns the command that shows the key, or the document if there is no readable key; null if that document does not exist, or
 * if its id has a character other than letters, digits, hyphens and underscores, which a shell could read as code.
 */
function getCommand({ boq_list_id, path, rule }: Violation, targetOptions: TargetOptions): string | null {
  if (boq_list_id !== null && rule !== 'key_readable') return formatCommand('show', boq_list_id, targetOptions);
  return /^\w+\/[\w-]+$/.test(path) ? formatDocumentCommand('show', path, targetOptions) : null;
}

function formatReport(report: AuditReport, sampleSize: number): string {
  const { keys, attempts, violations, not_compared, document_reads } = report;
  const compared = 'compared with the payload';
  const sample = sampleSize === 0 ? '' : `, and up to ${formatNumber(sampleSize)} of each list ${compared}`;
  const entries = sampleSize === Infinity ? compared : `counted${sample}`;
  const except =
    sampleSize === 0 || not_compared === 0
      ? ''
      : ` The entries of ${count(not_compared, 'attempt')} without a usable payload were only counted.`;
  const all = except === '' ? 'All entries of the current attempts of readable keys' : 'Entries';
  const checked = `Checked ${count(keys, 'key')} with ${count(attempts, 'attempt')}. ${all} were ${entries}.${except}`;
  const facts =
    `For information: ${count(report.without_lists, 'completed key')} without lists, and ` +
    `${formatNumber(report.other_currency)} with lists in a different currency from the request's.`;
  return `${checked} ${count(document_reads, 'document read')}. ${count(violations, 'violation')}.\n${facts}\n`;
}
