/** Finds all owners in the ledger and in MongoDB, account by account. */
import type { Catalog } from '../../catalog/connection.ts'
import type { Ledger } from '../../ledger/ledger.ts'

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
    const recorded = catalog.balances.find({}, { projection: { aid: 1, sid: 1 } })
    for await (const { aid, sid } of recorded) {
      if (isOurs(ledger.keys.partitionOf(aid))) addSubscriber(accounts, aid, sid)
    }
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
      const page = await master.scan(cursor, 'MATCH', '{p*}:o:*', 'COUNT', SCAN_COUNT)
      cursor = page[0]
      for (const key of page[1]) addOwner(accounts, key, isOurs)
    } while (cursor !== '0')
  })
  return accounts
}

function addOwner(
  accounts: Map<number, Set<number>>,
  key: string,
  isOurs: (partition: number) => boolean,
): void {
  const match = /^\{p(\d+)\}:o:(\d+):(\d+)$/.exec(key)
  if (match === null || !isOurs(Number(match[1]))) return
  addSubscriber(accounts, Number(match[2]), Number(match[3]))
}

function addSubscriber(accounts: Map<number, Set<number>>, aid: number, sid: number): void {
  const sids = accounts.get(aid) ?? new Set<number>()
  accounts.set(aid, sids)
  if (sid !== 0) sids.add(sid)
}
