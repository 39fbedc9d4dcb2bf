/** The commands `tollgate cycle …`. */
import { type CommandSpec, common, json, text, toggle } from './command-spec.ts'

const cycle = {
  key: text('K', 'key of the cycle: the month in which it ends, such as 202611'),
  'invoicing-day': text('D', 'day of the cycle, if accounts have different ones'),
}

export const CYCLE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'cycle run',
    help: 'Compute the invoices of a cycle; joins or continues a run, in any number of processes.',
    options: {
      ...cycle,
      rerun: toggle('replace the unconfirmed invoices of an earlier run; their numbers stay'),
      threads: text('N', 'worker threads; one per processor if not given'),
      pdf: toggle('write PDF drafts of the invoices into invoices.folder'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./cycle.ts')).runCycle(shell, options),
  },
  {
    name: 'cycle preview',
    help: 'Compute invoices without storing them, also of a later cycle or with a supposed change.',
    isReading: true,
    options: {
      ...cycle,
      aid: text('N', 'the only account; all if not given'),
      assume: text('FILE', 'JSON with revisions that replace or end stored ones'),
      back: text('N', 'earlier confirmed cycles to look for charges that no run corrects; 2'),
      json,
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./cycle-preview.ts')).previewCycle(shell, options),
  },
  {
    name: 'cycle status',
    help: 'Show the state of a cycle, the progress of its run, and its invoices.',
    isReading: true,
    options: { ...cycle, json, ...common },
    run: async ({ shell, options }) => (await import('./cycle.ts')).showCycle(shell, options),
  },
  {
    name: 'cycle confirm',
    help: 'Confirm invoices: they become bills, are sent, and are not changed any more.',
    options: {
      ...cycle,
      invoices: text('N,N', 'numbers of the only invoices; all if not given'),
      pdf: toggle('write their PDF into invoices.folder, whatever the run and the settings say'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./cycle.ts')).confirmCycle(shell, options),
  },
  {
    name: 'cycle reset',
    help: 'Forget the progress of a finished run, so that the cycle can be run again.',
    options: { ...cycle, ...common },
    run: async ({ shell, options }) => (await import('./cycle.ts')).resetCycle(shell, options),
  },
  {
    name: 'cycle parked',
    help: 'Show the accounts that failed, compute them again, or leave them out.',
    isReading: true,
    options: {
      ...cycle,
      retry: toggle('compute them again'),
      skip: toggle('leave them without an invoice in this cycle'),
      aids: text('N,N', 'with --retry or --skip: the only accounts'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./cycle.ts')).parkedAccounts(shell, options),
  },
]
