import type { ParsedCommand } from './arguments';
import { auditRecords } from './commands/audit';
import type { CommandContext } from './commands/context';
import { list } from './commands/list';
import { releaseKey } from './commands/release';
import { resumeKeys } from './commands/resume';
import { show } from './commands/show';
import { sweepKeys } from './commands/sweep';

/** @returns exit code */
export async function runCommand(command: ParsedCommand, context: CommandContext): Promise<number> {
  switch (command.name) {
    case 'list':
      return list(command.options, context);
    case 'show':
      return show(command.id, command.options, context);
    case 'resume':
      return resumeKeys(command.ids, command.options, context);
    case 'release':
      return releaseKey(command.id, command.options, context);
    case 'sweep':
      return sweepKeys(command.options, context);
    case 'audit':
      return auditRecords(command.options, context);
  }
}
