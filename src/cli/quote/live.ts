/** `tollgate quote --sid`: a quote for a subscriber of the running node. */
import { moneyFormat } from '../../billing/currency.ts'
import {
  type LiveSource,
  type LiveUsage,
  quoteUsage,
  readLiveState,
} from '../../billing/quote/live.ts'
import { createLiveCatalogue } from '../../billing/quote/live-catalogue.ts'
import { type QuoteSettings, settingsOf } from '../../billing/quote/settings.ts'
import type { Config } from '../../config/schema.ts'
import { createLogger } from '../../runtime/log.ts'
import { UsageError } from '../errors.ts'
import {
  type OptionValues,
  optionalInstant,
  optionalNumber,
  optionalText,
  requiredText,
} from '../options.ts'
import type { Shell } from '../shell.ts'
import { type Stores, withStores } from '../stores.ts'
import { resultTable } from './result-table.ts'

/** Returns 1 if nothing would be granted. Throws `UsageError` or `CommandError`. */
export async function quoteLive(
  shell: Shell,
  options: OptionValues,
  config: Config,
): Promise<0 | 1> {
  if (options['sid'] === undefined) {
    throw new UsageError('give --cases for a file of cases, or --sid for a subscriber')
  }
  const usageAt = usageFromOptions(options, config.rating.timeZone)
  const settings = settingsOf(config.rating)
  const quoted = await withStores(config, async (stores) => {
    const nowMs = stores.clock.nowMs()
    const usage = usageAt(nowMs)
    const state = await readLiveState(liveSource(stores, settings), config, usage)
    return { state, usage, nowMs }
  })
  const { state, usage, nowMs } = quoted
  const result = quoteUsage(state, usage, settings, nowMs)
  const money = moneyFormat(config.rating.currencyCode)
  if (options['json'] === true) shell.print(JSON.stringify(result))
  else for (const line of resultTable(result, usage, money)) shell.print(line)
  return result.granted > 0 ? 0 : 1
}

export function liveSource(
  { catalog, ledger, accounts }: Pick<Stores, 'catalog' | 'ledger' | 'accounts'>,
  settings: QuoteSettings,
): LiveSource {
  const log = createLogger({ name: 'cli', level: 'silent' })
  const catalogue = createLiveCatalogue({ catalog, log, settings })
  return { catalog, ledger, lookup: accounts.lookup, catalogue }
}

/** Checked before the clock is known. Throws `UsageError`. */
export function usageFromOptions(
  options: OptionValues,
  timeZone: string,
): (nowMs: number) => LiveUsage {
  const sid = optionalNumber(options, 'sid')
  if (sid === undefined) throw new UsageError('--sid is missing')
  const usagev = optionalNumber(options, 'usagev')
  if (usagev === undefined) throw new UsageError('--usagev is missing')
  const atMs = optionalInstant(options, 'urt', timeZone)
  const usage = {
    sid,
    usagev,
    usaget: requiredText(options, 'usaget'),
    calledNumber: optionalText(options, 'called-number') ?? '',
    rateKey: optionalText(options, 'rate') ?? '',
  }
  return (nowMs) => ({ ...usage, atMs: atMs ?? nowMs })
}
