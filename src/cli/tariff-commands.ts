/** Commands for tariff change sets. */
import { type CommandSpec, common, documentFile, json, nameOf, text } from './command-spec.ts'
import type { TariffStep } from './tariff.ts'

const STEPS: Readonly<Record<TariffStep, string>> = {
  check: 'Check a tariff change set: apply its writes in a trial, and price its cases.',
  schedule: 'Check a tariff change set, and write all its revisions, or none.',
  cancel: 'Remove all revisions of a scheduled tariff change set; it is a draft again.',
  rollback: 'Restore the terms that an activated tariff change set has replaced.',
}

export const TARIFF_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'tariff list',
    help: 'Show the tariff change sets and their states.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./tariff.ts')).listTariffs(shell, options),
  },
  {
    name: 'tariff prepare',
    help: 'Create the draft of a tariff change set, or replace it.',
    operands: [documentFile('name, activation, writes, cases')],
    options: { json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./tariff.ts')).prepareTariff(shell, operands.FILE, options),
  },
  ...Object.entries(STEPS).map(
    ([step, help]): CommandSpec => ({
      name: `tariff ${step}`,
      help,
      operands: [nameOf('set')],
      options: {
        ...(step === 'rollback' && { at: text('TIME', 'from when on; now if not given') }),
        json,
        ...common,
      },
      run: async ({ shell, operands, options }) =>
        (await import('./tariff.ts')).stepTariff(shell, step as TariffStep, operands.NAME, options),
    }),
  ),
]
