/** Commands for recorded usage: files of records, and rerating. */
import { type CommandSpec, common, json, sid, text, toggle } from './command-spec.ts'

const recordId = { name: 'ID' as const, help: "id of the record, as in 'rejected list'" }

export const INTAKE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'intake',
    help: 'Charge the usage records of files, each once; continues a file that was interrupted.',
    operands: [{ name: 'FILE', help: 'file of records' }],
    rest: { name: 'FILE', help: 'further files, which are charged one after the other' },
    options: {
      'file-type': text('NAME', 'file type of the records (type: usage)'),
      json: { ...json, help: 'answer in JSON, a line per file' },
      ...common,
    },
    run: async ({ shell, operands, rest, options }) =>
      (await import('./intake.ts')).intake(shell, [operands.FILE, ...rest], options),
  },
  {
    name: 'rejected list',
    help: 'Show usage records that were rejected, the newest first, or those of a file in order.',
    isReading: true,
    options: {
      file: text('ID', 'id of a file'),
      'file-type': text('NAME', 'only records of this file type'),
      reason: text('TEXT', 'only records with this reason'),
      id: text('ID', 'only the record with this id, in any state'),
      state: text('S', 'waiting, submitted, corrected or dropped; waiting if not given'),
      limit: text('N', 'records at most; 100 if not given'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./rejected.ts')).list(shell, options),
  },
  {
    name: 'rejected resubmit',
    help: 'Charge a rejected record: corrected, or as it is, when something else was wrong.',
    operands: [recordId],
    options: { text: text('TEXT', 'the corrected record'), json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./rejected.ts')).resubmit(shell, operands.ID, options),
  },
  {
    name: 'rejected drop',
    help: 'Take a rejected record out of the queue; it is kept, and never charged.',
    operands: [recordId],
    options: common,
    run: async ({ shell, operands }) => (await import('./rejected.ts')).drop(shell, operands.ID),
  },
  {
    name: 'rerate',
    help: "Show what recorded usage would cost by today's catalogue, by account; --yes charges it.",
    isReading: (options) => options['yes'] !== true,
    options: {
      from: text('DATE', 'accounts with usage from then on; not before the last cycle'),
      to: text('DATE', 'and before then; now if not given'),
      rate: text('KEY', 'only accounts with such lines of this rate'),
      plan: text('NAME', 'only accounts with such lines of this plan'),
      sid,
      'file-type': text('NAME', 'only accounts with such lines of records of this file type'),
      'dry-run': toggle('only show what would change'),
      yes: toggle('change it'),
      json: { ...json, help: 'answer in JSON: a line per account, then the totals' },
      ...common,
    },
    run: async ({ shell, options }) => (await import('./rerate.ts')).rerate(shell, options),
  },
]
