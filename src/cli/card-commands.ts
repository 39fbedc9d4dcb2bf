/** The commands `tollgate card …` and `tollgate autorenew …`. */
import { type CommandSpec, common, json, text, toggle } from './command-spec.ts'

const batch = text('N', 'number of the batch')
const serials = text('N-M', 'serial numbers; all of the batch if not given')

export const CARD_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'card create',
    help: 'Create prepaid cards with random secrets, and the only file that has them.',
    options: {
      batch,
      count: text('N', 'number of cards'),
      'first-serial': text('N', 'serial number of the first card; 1 if not given'),
      plan: text('NAME', 'charging plan that a card loads'),
      provider: text('NAME', 'service provider'),
      to: text('TIME', 'end of validity'),
      information: text('TEXT', 'additional information'),
      output: text('FILE', 'CSV for the printer, readable by its owner only; must not exist'),
      continue: toggle('continue a creation that was interrupted, with the same options'),
      ...common,
    },
    run: async ({ shell, options }) => (await import('./card.ts')).createCardBatch(shell, options),
  },
  {
    name: 'card list',
    help: 'Show how many cards of a batch are in each state.',
    isReading: true,
    options: { batch, json, ...common },
    run: async ({ shell, options }) => (await import('./card.ts')).listCards(shell, options),
  },
  {
    name: 'card update',
    help: 'Change the state of the cards of a batch that may enter it.',
    options: {
      batch,
      serials,
      status: text('S', 'active, Shipped, Stolen, cancelled, Expired or Used'),
      ...common,
    },
    run: async ({ shell, options }) => (await import('./card.ts')).updateCardState(shell, options),
  },
  {
    name: 'card delete',
    help: 'Delete the cards of a batch that were not used.',
    options: { batch, serials, ...common },
    run: async ({ shell, options }) => (await import('./card.ts')).deleteCardsOf(shell, options),
  },
  {
    name: 'autorenew run',
    help: 'Charge the auto-renewals that are due, each due date once.',
    options: {
      at: text('TIME', 'what is due then, now if not given; later dates are charged ahead'),
      json,
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./autorenew.ts')).runAutorenew(shell, options),
  },
]
