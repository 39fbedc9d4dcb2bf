/** `tollgate card …`: prepaid cards, in batches. */
import { cardSecretsOf } from '../catalog/sealing/card-secrets.ts'
import type { Config } from '../config/schema.ts'
import { createBatch } from '../prepaid/cards/batch.ts'
import { displayStatus, statusOf } from '../prepaid/cards/states.ts'
import { type CardStores, countCards, deleteCards, updateCards } from '../prepaid/cards/store.ts'
import { ApiError } from '../requests/errors.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import {
  instantFrom,
  type OptionValues,
  optionalNumber,
  optionalText,
  requiredText,
} from './options.ts'
import { aligned } from './owners.ts'
import { Progress } from './progress.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

const COUNT_MAX = 1_000_000

export async function createCardBatch(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const { timeZone } = config.rating
  const count = wholeAt(options, 'count')
  if (count > COUNT_MAX) throw new UsageError(`--count must be at most ${COUNT_MAX}`)
  const order = {
    batch_number: wholeAt(options, 'batch'),
    count,
    firstSerial: optionalNumber(options, 'first-serial') ?? 1,
    charging_plan_name: requiredText(options, 'plan'),
    service_provider: requiredText(options, 'provider'),
    to: new Date(instantFrom(requiredText(options, 'to'), '--to', timeZone)),
    additional_information: optionalText(options, 'information') ?? '',
    file: requiredText(options, 'output'),
    isContinued: options['continue'] === true,
  }
  const progress = new Progress(shell, 'cards', count)
  await withCards(config, (stores) => {
    const secrets = cardSecretsOf(stores.catalog, config)
    const onProgress = (created: number) => progress.show(created)
    return createBatch({ ...stores, secrets, timeZone, onProgress }, order)
  }).finally(() => progress.end())
  shell.print(
    `created ${count} cards of batch ${order.batch_number}; their secrets are in ${order.file}`,
  )
  return 0
}

export async function listCards(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const batch = wholeAt(options, 'batch')
  const counts = await withCards(config, ({ catalog }) => countCards(catalog, batch))
  const rows = counts.map(({ status, count }) => ({ status: displayStatus(status), count }))
  if (options['json'] === true) shell.print(JSON.stringify(rows))
  else if (rows.length === 0) shell.print(`there are no cards of batch ${batch}`)
  else for (const line of aligned(rows.map(rowOf))) shell.print(line)
  return 0
}

function rowOf({ status, count }: { status: string; count: number }): string[] {
  return [status, String(count)]
}

export async function updateCardState(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const name = requiredText(options, 'status')
  const status = statusOf(name)
  if (status === null) throw new UsageError(`--status is not a state of cards: '${name}'`)
  const query = queryOf(options)
  const count = await withCards(config, (stores) => updateCards(stores, query, { status }))
  shell.print(`${count} cards are ${displayStatus(status)}`)
  return 0
}

export async function deleteCardsOf(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const query = queryOf(options)
  const count = await withCards(config, (stores) => deleteCards(stores, query))
  shell.print(`deleted ${count} cards`)
  return 0
}

async function withCards<T>(config: Config, act: (stores: CardStores) => Promise<T>): Promise<T> {
  try {
    return await withCatalog(config, (catalog, clock) =>
      act({ catalog, actor: operator(), nowMs: clock.nowMs() }),
    )
  } catch (error) {
    throw error instanceof ApiError ? new CommandError(error.message, { cause: error }) : error
  }
}

function queryOf(options: OptionValues) {
  const serials = optionalText(options, 'serials')
  return {
    batchNumber: wholeAt(options, 'batch'),
    serialNumber: serials === undefined ? undefined : rangeOf(serials),
  }
}

function rangeOf(text: string): { from: number; to: number } {
  const [, from, to] = /^([1-9]\d{0,14})(?:-([1-9]\d{0,14}))?$/.exec(text) ?? []
  if (from === undefined) {
    throw new UsageError(`--serials must be a number or a range such as 1-500, not '${text}'`)
  }
  return { from: Number(from), to: Number(to ?? from) }
}

function wholeAt(options: OptionValues, name: string): number {
  const text = requiredText(options, name)
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`--${name} must be a positive integer, not '${text}'`)
}
