/** Finds all owners in the ledger and in MongoDB, account by account. */
import type { Catalog } from '../../catalog/connection.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { readAll } from './read-all.ts'

export interface FoundAccount {
  aid: number
  /** Its subscribers that have balances, without 0 (the account itself). */
  sids: number[]
}

const SCAN_COUNT = 1_000
/** SCAN returns keys unordered, so a pass keeps the numbers of its owners in memory. */
const KEYS_PER_PASS = 1_000_000

export interface AccountStores {
  ledger: Ledger
  catalog: Catalog
}

/**
 * All accounts, in as many passes over the keys as memory requires; each pass covers a part of the
 * partitions. An owner may exist in MongoDB only, if the ledger has lost it. Owners created or
 * removed during the scan may be missed. Throws `StoreDownError` or `CatalogUnavailableError`.
 */
export async function* findAccounts(
  { ledger, catalog }: AccountStores,
  keysPerPass = KEYS_PER_PASS,
): AsyncGenerator<FoundAccount> {
  const sizes = await ledger.redis.onEachMaster((master) => master.dbsize())
  const keys = sizes.reduce((sum, size) => sum + size, 0)
  const passes = Math.min(ledger.keys.partitions, Math.max(1, Math.ceil(keys / keysPerPass)))
  for (let pass = 0; pass < passes; pass += 1) {
    const isOurs = (partition: number) => partition % passes === pass
    const accounts = await scan(ledger, isOurs)
    const projection = { aid: 1, sid: 1 }
    await readAll(
      catalog,
      'read the owners of balances',
      (options) => catalog.unguarded.balances.find({}, { ...options, projection }),
      () => accounts,
      (found, { aid, sid }) => {
        if (isOurs(ledger.keys.partitionOf(aid))) addSubscriber(found, aid, sid)
      },
    )
    for (const aid of [...accounts.keys()].sort((a, b) => a - b)) {
      const sids = [...(accounts.get(aid) ?? [])].sort((a, b) => a - b)
      yield { aid, sids }
    }
  }
}

async function scan(
  ledger: Ledger,
  isOurs: (partition: number) => boolean,
): Promise<Map<number, Set<number>>> {
  const accounts = new Map<number, Set<number>>()
  await ledger.redis.onEachMaster(async (master) => {
    let cursor = '0'
    do {
      const [next, found] = await master.scan(cursor, 'MATCH', '{p*}:a:*', 'COUNT', SCAN_COUNT)
      cursor = next
      const aids = found.flatMap((key) => accountIn(key, isOurs))
      for (const [index, fields] of (await readAccountFields(ledger, aids)).entries()) {
        // The audit reports a damaged account when it loads its shared owner.
        const sids = fields instanceof Error ? [] : fields.sids
        for (const sid of [0, ...sids]) addSubscriber(accounts, aids[index] as number, sid)
      }
    } while (cursor !== '0')
  })
  return accounts
}

function accountIn(key: string, isOurs: (partition: number) => boolean): number[] {
  const match = /^\{p(\d+)\}:a:(\d+)$/.exec(key)
  return match === null || !isOurs(Number(match[1])) ? [] : [Number(match[2])]
}

function addSubscriber(accounts: Map<number, Set<number>>, aid: number, sid: number): void {
  const sids = accounts.get(aid) ?? new Set<number>()
  accounts.set(aid, sids)
  if (sid !== 0) sids.add(sid)
}
