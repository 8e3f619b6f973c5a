import { retry } from '../../src/lib/firestore/retry';
import { countKeyRecords } from '../../audit/stored-records';
import { audit, type AuditReport } from '../../audit/audit';
import type { Violation } from '../../audit/invariants';
import type { AuditOptions } from '../arguments';
import { formatCommand } from '../format';
import { count, formatNumber, quote, quoteId } from '../text';
import { toJsonLine, type CommandContext } from './context';

/** Each holds a payload in memory. */
const CONCURRENT_KEYS = 4;

/** @returns 1 if there is a violation */
export async function auditRecords({ sample, full, json }: AuditOptions, context: CommandContext): Promise<number> {
  const { terminal, db, requestContext, project } = context;
  const startedAt = requestContext.clock.now();
  const total = await retry(() => countKeyRecords(db), requestContext, 'standalone');
  const sampleSize = full === true ? Infinity : sample;
  const report = await audit(
    db,
    requestContext,
    { sampleSize, concurrency: CONCURRENT_KEYS },
    {
      onViolation: (violation) =>
        terminal.print(json === true ? toViolationLine(violation, project) : formatViolation(violation, project)),
      onUnsettled: ({ boq_list_id }) =>
        terminal.printError(`${quoteId(boq_list_id)} is unsettled: it changed at every look, and is left out.\n`),
      onProgress: (keys) => terminal.drawProgress(keys, Math.max(keys, total), 'keys'),
    },
  );
  const duration_ms = requestContext.clock.now() - startedAt;
  if (json === true) terminal.print(toJsonLine(createSummary(report, duration_ms)));
  else terminal.print(formatReport(report, sampleSize));
  return report.violations === 0 ? 0 : 1;
}

/** One line of the log of a job (docs/operations.md#audit). Product ids are left out, as in every line of the log. */
function toViolationLine(violation: Violation, project: string | undefined): string {
  const { rule, boq_list_id, path, message } = violation;
  const command = getCommand(violation, project);
  const text = `${path} ${message}`;
  return toJsonLine({ severity: 'ERROR', message: text, event: 'audit_violation', rule, boq_list_id, path, command });
}

function createSummary(report: AuditReport, duration_ms: number) {
  const severity = report.violations > 0 ? 'ERROR' : 'INFO';
  const message = `${count(report.keys, 'key')} audited, ${count(report.violations, 'violation')}`;
  return { severity, message, event: 'audit_completed', ...report, duration_ms };
}

function formatViolation(violation: Violation, project: string | undefined): string {
  const { boq_list_id, path, message, products = [] } = violation;
  const key = boq_list_id === null ? '' : `${quoteId(boq_list_id)}: `;
  const examples = products.length === 0 ? '' : `, such as ${products.map(quote).join(', ')}`;
  return `${key}${path} ${message}${examples}. More: ${getCommand(violation, project)}\n`;
}

/** The command that shows more: of the key, or of a document that has none. */
function getCommand({ boq_list_id, path, rule }: Violation, project: string | undefined): string {
  const [, id] = path.split('/');
  return formatCommand('show', boq_list_id === null || rule === 'key_readable' ? (id ?? '') : boq_list_id, project);
}

function formatReport({ keys, attempts, violations, unsettled, document_reads }: AuditReport, sampleSize: number) {
  const entries =
    sampleSize === Infinity
      ? 'all entries compared'
      : sampleSize === 0
        ? 'entries counted'
        : `entries counted, ${formatNumber(sampleSize)} of each list compared`;
  const read = `${count(keys, 'key')} with ${count(attempts, 'attempt')}, ${entries}: ${count(document_reads, 'document read')}.`;
  const leftOut = unsettled === 0 ? '' : ` ${count(unsettled, 'unsettled key')} left out.`;
  return `${read}${leftOut} ${violations === 0 ? 'Nothing is wrong.' : `${count(violations, 'violation')}.`}\n`;
}
