/** `tollgate autorenew run`: charges the auto-renewals that are due. */
import { entityStoresOf } from '../admin/entity-api.ts'
import { chargeDueRenewals } from '../prepaid/autorenew/due.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError } from './errors.ts'
import { type OptionValues, optionalInstant } from './options.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, withStores } from './stores.ts'

export async function runAutorenew(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const atMs = optionalInstant(options, 'at', config.rating.timeZone)
  const charged = await withStores(config, async ({ catalog, ledger, clock, accounts, lost }) => {
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const log = createLogger({ name: 'cli', level: 'silent' })
    // The loads follow in this process.
    entityStoresOf({ catalog, ledger, clock, config, lookup: accounts.lookup, log })
    let sum = 0
    const parts = { catalog, clock, config }
    const never = new AbortController().signal
    await chargeDueRenewals(parts, atMs ?? clock.nowMs(), never, async (count) => {
      sum += count
    })
    return sum
  })
  shell.print(
    options['json'] === true ? JSON.stringify({ charged }) : `charged ${charged} due dates`,
  )
  return 0
}
