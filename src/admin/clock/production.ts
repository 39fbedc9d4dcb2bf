/** Payment gateways that a test clock must not use: customers would pay ahead of time. */
import type { ChargeDeps } from '../../billing/charges/attempt.ts'

/** Keys of Stripe that move real money; those of its test mode begin with `sk_test_`. */
const LIVE_KEY = /^(?:sk|rk)_live_/

/** Name of an enabled payment gateway with a live key; null if no gateway has one. */
export async function liveGateway({
  gateways,
  sealer,
}: Pick<ChargeDeps, 'gateways' | 'sealer'>): Promise<string | null> {
  const found = (await gateways.list()).find(({ params }) => {
    const key = params['api_key']
    return typeof key === 'string' && LIVE_KEY.test(sealer.open(key) ?? '')
  })
  return found?.instanceName ?? null
}
