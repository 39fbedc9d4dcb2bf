/** `tariffs`: sets of changes of the catalogue that take effect, and are rolled back, together. */
import { type TObject, Type } from '@sinclair/typebox'
import type { ActionName } from '../../catalog/entities/api.ts'
import {
  choice,
  closed,
  customFields,
  date,
  listOf,
  ref,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import type { TariffSetDocument } from '../../catalog/records/tariff-set-document.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import {
  cancelSet,
  checkSet,
  listSets,
  prepareSet,
  rollBackSet,
  scheduleSet,
  setView,
  TARIFF_STATES,
} from '../../entities/tariffs/sets.ts'
import { TARIFF_COLLECTIONS, type TariffWork, WRITES_MAX } from '../../entities/tariffs/writes.ts'
import type { AnsweredIssue } from '../../requests/errors.ts'
import { type Action, type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'
import { CASES_MAX, QuoteWork, refuseLarge } from './quote-work.ts'
import { mayRead } from './reports.ts'

const BODY = { bytesMax: 4 * 1024 * 1024, json: { keysMax: 100_000 } } as const

const SET = closed(
  'A tariff change set.',
  {
    name: text('Its name.'),
    activation: date('When its writes take effect, all at once.'),
    state: choice(TARIFF_STATES, '`failed`: the last check has found errors.'),
    history: listOf(
      closed('A step.', {
        action: text('`prepare`, `check`, `schedule`, `cancel` or `rollback`.'),
        at: date('When.'),
        by: text('Who.'),
      }),
      'Its steps.',
    ),
    rolled_back_at: date('From when on the previous terms apply again.'),
    writes: listOf(
      closed('A write of the entity API.', {
        collection: text('The collection.'),
        action: text('The action.'),
        query: customFields('What it addresses.'),
        update: customFields('What it changes.'),
      }),
      'Its writes.',
    ),
    cases: listOf(customFields('A case (docs/QUOTES.md).'), 'Its cases.'),
    errors: ref<readonly AnsweredIssue[]>('errors', 'What the last check has found.'),
  },
  ['rolled_back_at'],
)

const NAME = { name: param.text('Name of the set.', { minLength: 1, maxLength: 100 }) }
const DATE = '2027-01-01T00:00:00.000Z'
const WRITE = {
  collection: 'rates',
  action: 'closeandnew',
  query: { key: 'DATA' },
  update: {
    rates: { data: { BASE: { rate: [{ to: 'UNLIMITED', interval: 1024, price: 0.03 }] } } },
  },
}
const EXAMPLE = {
  name: 'new year',
  activation: DATE,
  state: 'draft',
  history: [{ action: 'prepare', at: DATE, by: 'ada' }],
  writes: [WRITE],
  cases: [],
  errors: [],
}

const answer = { details: SET }

export const tariffs = action({
  name: 'tariffs',
  level: 'read',
  about: 'List tariff change sets',
  isReadByGet: true,
  parameters: Type.Object({ name: param.optional(NAME.name) }),
  answer: { details: listOf(SET, 'Those that take effect last first.') },
  example: { parameters: { name: 'new year' }, answer: { details: [] } },
  async run({ name }, call) {
    const sets = await listSets(call.entityApi, name)
    const views = sets.map((set) => setView(set, call.nowMs))
    return { details: await readable(views, call) }
  },
})

export const tariffsprepare = action({
  name: 'tariffsprepare',
  paths: ['/api/tariffs/prepare'],
  level: 'write',
  about: 'Create the draft of a tariff change set, or replace it',
  body: BODY,
  notEchoed: ['writes', 'cases'],
  parameters: Type.Object({
    ...NAME,
    activation: param.date('When its writes take effect.'),
    writes: param.list(
      customFields('`collection`, `action`, `query`, `update`, as of the entity API.'),
      `Its writes, at most ${WRITES_MAX}, in their order.`,
    ),
    cases: param.optional(
      param.list(
        customFields('A case with `expect` (docs/QUOTES.md).'),
        `What its prices must be: at most ${CASES_MAX} cases.`,
      ),
    ),
  }),
  answer,
  example: {
    parameters: { name: 'new year', activation: DATE, writes: [WRITE] },
    answer: { details: EXAMPLE },
  },
  async run({ writes, cases = [], ...rest }, call) {
    refuseLarge(cases)
    return answered(call, prepareSet(workOf(call), { ...rest, writes, cases }))
  },
})

export const tariffscheck = step(
  'check',
  'Check a tariff change set in a trial and price its cases; the catalogue stays as it is',
  ({ name }, call) => checkSet(workOf(call), name, casesIn(call)),
)

export const tariffsschedule = step(
  'schedule',
  'Check a tariff change set, and write all its revisions, or none',
  ({ name }, call) => scheduleSet(workOf(call), name, casesIn(call)),
)

export const tariffscancel = step(
  'cancel',
  'Remove all revisions of a scheduled tariff change set, which is a draft again',
  ({ name }, call) => cancelSet(workOf(call), name),
)

export const tariffsrollback = step(
  'rollback',
  'Restore the terms that an activated tariff change set has replaced; usage keeps its price',
  ({ name, at = null }, call) => rollBackSet(workOf(call), name, at),
  { at: param.optional(param.date('From when on; now by default.')) },
)

interface StepParameters {
  readonly name: string
  readonly at?: Date
}

/** An action on a set that is there. */
function step(
  name: string,
  about: string,
  run: (parameters: StepParameters, call: ActionCall) => Promise<TariffSetDocument>,
  more: TObject['properties'] = {},
): Action {
  return action({
    name: `tariffs${name}`,
    paths: [`/api/tariffs/${name}`],
    level: 'write',
    about,
    parameters: Type.Object({ ...NAME, ...more }),
    answer,
    example: { parameters: { name: 'new year' }, answer: { details: EXAMPLE } },
    run: (parameters, call) => answered(call, run(parameters as StepParameters, call)),
  })
}

async function answered(
  { nowMs }: ActionCall,
  done: Promise<TariffSetDocument>,
): Promise<{ details: ValueOf<typeof SET> }> {
  return { details: setView(await done, nowMs) }
}

/** Sets without a write of a collection that the caller may not read. */
async function readable(
  views: readonly ReturnType<typeof setView>[],
  call: ActionCall,
): Promise<ReturnType<typeof setView>[]> {
  const hidden = new Set<string>()
  for (const name of TARIFF_COLLECTIONS) {
    const definition = DEFINITIONS.get(name)
    if (definition === undefined || !(await mayRead(definition, call))) hidden.add(name)
  }
  return views.filter(({ writes }) => writes.every(({ collection }) => !hidden.has(collection)))
}

function casesIn({ signal }: ActionCall) {
  const work = new QuoteWork(signal)
  return work.run.bind(work)
}

function workOf({ entityApi: api, actor, permits }: ActionCall): TariffWork {
  return {
    ...{ api, actor },
    permits({ collection, action: name }) {
      const { roles = [] } = DEFINITIONS.get(collection)?.actions[name as ActionName] ?? {}
      return permits({ collection, name, usual: roles })
    },
  }
}
