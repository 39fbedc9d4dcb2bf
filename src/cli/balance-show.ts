/** `tollgate balance show`. */
import type { Catalog } from '../catalog/connection.ts'
import { debtOf, type OwnerState } from '../domain/bucket.ts'
import { loadOwners } from '../ledger/loading.ts'
import type { OptionValues } from './options.ts'
import { accountOf, ownerJson, ownerSelector, ownerText } from './owners.ts'
import type { Shell } from './shell.ts'
import { withStores } from './stores.ts'

export async function showBalance(shell: Shell, options: OptionValues): Promise<0> {
  const { sid, aid } = ownerSelector(options)
  const config = shell.config()
  const result = await withStores(config, async (stores) => {
    const { catalog, ledger, clock } = stores
    const nowMs = clock.nowMs()
    const account = aid ?? (await accountOf(stores, sid ?? 0, nowMs))
    const owners = await loadOwners(ledger, account, sid === undefined ? [0] : [sid, 0])
    return { nowMs, owners, nameOf: await namesFor(catalog, owners) }
  })
  const { nowMs, owners, nameOf } = result
  if (options['json'] === true) {
    const [owner, shared] = owners.map((state) => ownerJson(state, nameOf, nowMs))
    const ofAccount = shared && { shared: shared.buckets, shared_debt: shared.debt }
    shell.print(JSON.stringify({ ...owner, ...ofAccount }))
    return 0
  }
  for (const [index, owner] of owners.entries()) {
    // Shared balances are shown only if there are any.
    if (index > 0 && owner.buckets.length === 0 && debtOf(owner) === 0) continue
    for (const line of ownerText(owner, nameOf, nowMs, config.rating.currencyCode)) {
      shell.print(line)
    }
  }
  return 0
}

async function namesFor(
  catalog: Catalog,
  owners: readonly OwnerState[],
): Promise<(id: number) => string> {
  const ids = owners.flatMap((owner) => owner.buckets.map((bucket) => bucket.prepaidIncludeId))
  const found = await catalog.prepaidincludes
    .find({ external_id: { $in: [...new Set(ids)] } })
    .sort({ from: 1 })
    .toArray()
  const names = new Map(found.map(({ external_id, name }) => [external_id, name]))
  return (id) => names.get(id) ?? ''
}
