/** `tollgate tariff`: tariff change sets, directly on the stores. */
import { QuoteWork, refuseLarge } from '../admin/actions/quote-work.ts'
import { createEntityApi } from '../admin/entity-api.ts'
import type { TariffSetDocument } from '../catalog/records/tariff-set-document.ts'
import { arrayAt, FieldError, objectAt, textAt } from '../domain/fields.ts'
import {
  cancelSet,
  checkSet,
  type ListedSet,
  listSets,
  prepareSet,
  rollBackSet,
  scheduleSet,
  setView,
} from '../entities/tariffs/sets.ts'
import type { TariffWork } from '../entities/tariffs/writes.ts'
import { ApiError } from '../requests/errors.ts'
import { createLogger } from '../runtime/log.ts'
import { readDocument } from './document-file.ts'
import { CommandError } from './errors.ts'
import { operator } from './operator.ts'
import { instantFrom, type OptionValues, optionalInstant } from './options.ts'
import type { Shell } from './shell.ts'
import { withStores } from './stores.ts'

export type TariffStep = 'check' | 'schedule' | 'cancel' | 'rollback'

const KEYS = ['name', 'activation', 'writes', 'cases']

export async function listTariffs(shell: Shell, options: OptionValues): Promise<0> {
  await withTariffs(shell, options, ({ api }) => listSets(api, undefined))
  return 0
}

export async function prepareTariff(shell: Shell, file: string, options: OptionValues): Promise<0> {
  const value = await readDocument(shell, file)
  const { timeZone } = shell.config().rating
  await withTariffs(shell, options, async (work) => {
    const { name, activation, writes, cases = [] } = objectAt(value, '', KEYS)
    const listed = arrayAt(cases, 'cases')
    refuseLarge(listed)
    const draft = {
      name: textAt(name, 'name'),
      activation: new Date(instantFrom(textAt(activation, 'activation'), 'activation', timeZone)),
      writes: arrayAt(writes, 'writes'),
    }
    return [await prepareSet(work, { ...draft, cases: listed })]
  })
  return 0
}

/** Returns 1 if a check has found errors. */
export async function stepTariff(
  shell: Shell,
  step: TariffStep,
  name: string,
  options: OptionValues,
): Promise<0 | 1> {
  const atMs = optionalInstant(options, 'at', shell.config().rating.timeZone)
  const at = atMs === undefined ? null : new Date(atMs)
  const shown = await withTariffs(shell, options, async (work) => {
    const cases = new QuoteWork(undefined)
    const runCase = cases.run.bind(cases)
    const steps: Readonly<Record<TariffStep, () => Promise<TariffSetDocument>>> = {
      check: () => checkSet(work, name, runCase),
      schedule: () => scheduleSet(work, name, runCase),
      cancel: () => cancelSet(work, name),
      rollback: () => rollBackSet(work, name, at),
    }
    return [await steps[step]()]
  })
  return shown[0]?.state === 'failed' ? 1 : 0
}

/** Shows the sets; refusals with all their issues. */
async function withTariffs(
  shell: Shell,
  options: OptionValues,
  act: (work: TariffWork) => Promise<readonly ListedSet[]>,
): Promise<readonly ReturnType<typeof setView>[]> {
  const config = shell.config()
  const log = createLogger({ name: 'cli', level: 'silent' })
  const views = await withStores(config, async ({ catalog, ledger, clock, accounts }) => {
    const { lookup } = accounts
    const api = createEntityApi({ catalog, ledger, clock, config, lookup, log })
    const sets = await act({ api, actor: operator(), permits: async () => true })
    return sets.map((set) => setView(set, clock.nowMs()))
  }).catch((error: unknown) => {
    const isRefused = error instanceof ApiError || error instanceof FieldError
    throw isRefused ? new CommandError(error.message, { cause: error }) : error
  })
  if (options['json'] === true) shell.print(JSON.stringify(views))
  else if (views.length === 0) shell.print('there are no tariff change sets')
  else for (const line of views.flatMap(linesOf)) shell.print(line)
  return views
}

function linesOf({ name, activation, state, writes, errors, ...rest }: ReturnType<typeof setView>) {
  const back = rest.rolled_back_at === undefined ? '' : ` at ${rest.rolled_back_at.toISOString()}`
  const count = writes.length === 1 ? '1 write' : `${writes.length} writes`
  const from = `${count} from ${activation.toISOString()}`
  return [
    `${name}: ${state.replace('_', ' ')}${back}, ${from}`,
    ...errors.map(({ path, why }) => `  ${path} ${why}`),
  ]
}
