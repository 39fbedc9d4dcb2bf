/** `tollgate quote`: the price of usage, from a file of cases or from the live catalogue. */
import { settingsOf } from '../billing/quote/settings.ts'
import { UsageError } from './errors.ts'
import { type OptionValues, optionalText } from './options.ts'
import { quoteCases } from './quote/cases.ts'
import { quoteLive } from './quote/live.ts'
import type { Shell } from './shell.ts'

const LIVE_OPTIONS = ['sid', 'usaget', 'usagev', 'called-number', 'rate', 'urt', 'json']

/**
 * Returns 1 if a case is invalid or not as expected, or if nothing is granted. Throws `UsageError`.
 */
export async function quote(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const cases = optionalText(options, 'cases')
  if (cases !== undefined) refuseOthers(options)
  const config = shell.config()
  if (cases === undefined) return quoteLive(shell, options, config)
  return quoteCases(shell, cases, settingsOf(config.rating))
}

function refuseOthers(options: OptionValues): void {
  const other = LIVE_OPTIONS.find((name) => options[name] !== undefined)
  if (other === undefined) return
  throw new UsageError(`--${other} cannot be combined with --cases`)
}
