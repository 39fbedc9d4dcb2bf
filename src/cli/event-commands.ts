/** Commands for events and their rules. */
import { type CommandSpec, common, json, sid, text } from './command-spec.ts'

const filters = {
  aid: text('N', 'account number'),
  sid,
  code: text('CODE', 'event_code of the rule'),
  type: text('T', 'balance, balancePrepaid, fraud, invoice_confirmed, ...'),
  state: text('S', 'pending, delivered, dead or unaddressed'),
  from: text('TIME', 'made at this time or later'),
  to: text('TIME', 'made before this time'),
}

export const EVENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'event list',
    help: 'Show events with the state of their delivery, the newest first.',
    isReading: true,
    options: { ...filters, limit: text('N', 'events at most; 100 if not given'), json, ...common },
    run: async ({ shell, options }) => (await import('./event.ts')).listEvents(shell, options),
  },
  {
    name: 'event resend',
    help: 'Send events again: those with these stamps, or those in a state of delivery.',
    rest: { name: 'STAMP', help: "stamp, as in 'event list'" },
    options: {
      ...filters,
      limit: text('N', 'events at most; 10000 if not given'),
      json,
      ...common,
    },
    run: async ({ shell, rest, options }) =>
      (await import('./event.ts')).resend(shell, rest, options),
  },
  {
    name: 'event test',
    help: 'Show what a rule of balances finds in usage of a subscriber now. Read-only.',
    isReading: true,
    operands: [{ name: 'RULE', help: 'event_code of a stored rule, or a file with a rule' }],
    options: {
      sid,
      usaget: text('T', 'usage type, such as call'),
      usagev: text('V', 'units that are used'),
      'called-number': text('X', 'called number, for matching and free numbers'),
      rate: text('KEY', 'rate to use without matching'),
      urt: text('TIME', 'time of the event; now if not given'),
      json,
      ...common,
    },
    run: async ({ shell, operands, options, tools }) =>
      (await import('./event-test.ts')).testRule(shell, operands.RULE, options, tools),
  },
]
