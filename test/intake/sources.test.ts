import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { RecordFileType } from '../../src/file-types/records/record-files.ts'
import { UnrecordedEntryError } from '../../src/intake/recorded.ts'
import { sourcesOf } from '../../src/intake/sources/settings.ts'
import { SourceWatch, type SourceWatchOptions } from '../../src/intake/sources/source-watch.ts'
import { takeFile } from '../../src/intake/take-file.ts'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { openPlace } from '../../src/transfer/open-place.ts'
import { TransferError, type TransferPlace } from '../../src/transfer/place.ts'
import { CALLS, type CallRecord, COUNTED_CALLS } from '../support/intake/call-records.ts'
import { AID, MSISDN, openIntakeScene, SID, UNITS } from '../support/intake/intake-scene.ts'
import { useFolderEach, useOpenedEach } from '../support/opened.ts'
import { loadOwner } from '../support/recorder/accounts.ts'
import { connectRedis } from '../support/redis.ts'
import { startSftpServer } from '../support/transfer/sftp-server.ts'

const scene = useOpenedEach(
  () => openIntakeScene(),
  (opened) => opened.close(),
)
const redis = useOpenedEach(() => connectRedis(scene().stores.server.url))
const root = useFolderEach()
const spool = useFolderEach()

const record = (id: string, more: Partial<CallRecord> = {}) =>
  JSON.stringify({ id, used: 10, msisdn: MSISDN, at: '2026-10-10T00:00:00Z', ...more })

const recordsOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${record(`${prefix}${index}`)}\n`).join('')

const file = (name: string, text: string) => writeFileSync(join(root(), name), text)
const inFolder = (folder: string) =>
  existsSync(join(root(), folder)) ? readdirSync(join(root(), folder)).sort() : []
const reportOf = (path: string) => JSON.parse(readFileSync(join(root(), path), 'utf8'))

let logged: string[]
let counted: Record<string, number>
let failing: boolean[]
let waiting: number[]

beforeEach(() => {
  logged = []
  counted = {}
  failing = []
  waiting = []
})

const count = (name: string, by: number) => {
  if (by > 0) counted[name] = (counted[name] ?? 0) + by
}

interface Given extends Partial<SourceWatchOptions> {
  source?: Record<string, unknown>
  type?: RecordFileType
}

function watchOf({ source = {}, type = CALLS, ...more }: Given = {}): SourceWatch {
  const { stores, intake } = scene()
  const given = { place: 'here', fileType: 'calls', pattern: '*.jsonl', stableMs: 0, ...source }
  const [settings] = sourcesOf({ calls: given })
  if (settings === undefined) throw new Error('no settings')
  const write = (_: unknown, message?: string) => void logged.push(message ?? '')
  return new SourceWatch({
    settings,
    place: folderPlace(),
    catalog: stores.catalog,
    spool: spool(),
    take: (path, name, fileType, onProgress) =>
      takeFile(intake, { path, name, fileType }, onProgress),
    intake: { fileType: async () => type },
    keys: openExpiringKeys(redis(), 'intake'),
    log: { info: write, warn: write, error: write },
    metrics: {
      intakeFile: (_, result) => count(`files ${result}`, 1),
      intakeRecords: (_, result, by) => count(`records ${result}`, by),
      waitingFiles: (_, files) => void waiting.push(files),
      sourceFailing: (_, isFailing) => void failing.push(isFailing),
    },
    pollMs: 10,
    signal: new AbortController().signal,
    ...more,
  })
}

const folderPlace = () => {
  const places = { here: { url: `file://${root()}` } }
  return openPlace({ places, secrets: {}, timeoutMs: 1_000 }, 'here')
}

/** The same place, with other methods. */
const placeWith = (methods: Partial<TransferPlace>): TransferPlace => {
  const place = folderPlace()
  return new Proxy(place, {
    get: (target, name) => {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
}

async function spent(): Promise<number> {
  const { buckets } = await loadOwner(scene().stores.ledger, AID, SID)
  return UNITS - (buckets[0]?.free ?? 0)
}

const stopped = () => {
  const ending = new AbortController()
  ending.abort()
  return ending.signal
}

describe('a source of usage records', () => {
  it('has its complete files taken in the order of their names, each with a report', async () => {
    file('b.jsonl', recordsOf('b', 3))
    file('a.jsonl', `${recordsOf('a', 45)}{\n${record('b1')}\n`)
    file('other.txt', 'not for this source')
    await watchOf().poll()
    expect(inFolder('.')).toEqual(['done', 'other.txt'])
    expect(inFolder('done')).toEqual([
      ...['a.jsonl', 'a.jsonl.report.json', 'b.jsonl', 'b.jsonl.report.json'],
    ])
    expect(reportOf('done/a.jsonl.report.json')).toMatchObject({
      ...{ source: 'calls', name: 'a.jsonl', state: 'done', repeated: false },
      ...{ read: 47, charged: 46, duplicates: 0, filtered: 0, rejected: 1 },
      totals: [{ usaget: 'data', records: 46, units: 460, price_micros: 0 }],
      rejected_records: [{ line: 46, field: 'record', reason: 'is not JSON', state: 'waiting' }],
    })
    expect(reportOf('done/b.jsonl.report.json')).toMatchObject({ charged: 2, duplicates: 1 })
    expect(counted).toEqual({
      ...{ 'files done': 2, 'records charged': 48, 'records duplicates': 1 },
      'records rejected': 1,
    })
    expect(waiting.at(0)).toBe(2)
    expect(waiting.at(-1)).toBe(0)
    expect(await spent()).toBe(480)
  })

  it('has a file whose trailer is wrong moved to failed, and the next one taken', async () => {
    file('a.jsonl', `${recordsOf('a', 2)}{"count":4}\n`)
    file('b.jsonl', `${recordsOf('b', 1)}{"count":1}\n`)
    await watchOf({ type: COUNTED_CALLS }).poll()
    expect(inFolder('failed')).toEqual(['a.jsonl', 'a.jsonl.report.json'])
    const error = 'line 3: count is 4, and the file has 2 records'
    expect(reportOf('failed/a.jsonl.report.json')).toMatchObject({ state: 'failed', error })
    expect(inFolder('done')).toContain('b.jsonl')
    expect(counted).toMatchObject({ 'files done': 1, 'files failed': 1 })
  })

  it('keeps a file that cannot be read, and takes the others', async () => {
    file('a.jsonl', recordsOf('a', 1))
    file('b.jsonl', recordsOf('b', 1))
    const place = placeWith({
      move: async (listed, to) => {
        if (listed.name === 'a.jsonl') throw new TransferError('refused', 'a.jsonl: EACCES')
        return folderPlace().move(listed, to)
      },
    })
    await watchOf({ place }).poll()
    expect(inFolder('.')).toContain('a.jsonl')
    expect(inFolder('done')).toContain('b.jsonl')
    expect(counted).toMatchObject({ 'files error': 1, 'files done': 1 })
    expect(logged).toContain('a file of usage records cannot be taken')
    expect(failing).toEqual([false])
    expect(waiting.at(-1)).toBe(1)
  })

  it('that is away is reported once, and taken from when it is back', async () => {
    file('a.jsonl', recordsOf('a', 1))
    let isAway = true
    const place = placeWith({
      list: async (folder) => {
        if (isAway) throw new TransferError('unreachable', 'no connection')
        return folderPlace().list(folder)
      },
    })
    const watch = watchOf({ place })
    await watch.poll()
    await watch.poll()
    isAway = false
    await watch.poll()
    expect(failing).toEqual([true, true, false])
    expect(logged).toEqual([
      'a source of usage records fails; retrying',
      'a file of usage records was charged',
      'a source of usage records works again',
    ])
    expect(inFolder('done')).toContain('a.jsonl')
  })

  it('stops all files of it when its disk is full, and none is lost', async () => {
    for (const name of ['a', 'b']) file(`${name}.jsonl`, recordsOf(name, 1))
    const writes: string[] = []
    const place = placeWith({
      write: async (name) => {
        writes.push(name)
        throw new TransferError('disk full', 'ENOSPC')
      },
    })
    await watchOf({ place }).poll()
    expect(writes).toEqual(['done/a.jsonl.report.json'])
    expect(failing).toEqual([true])
    await watchOf({ keys: openExpiringKeys(redis(), 'other') }).poll()
    expect(inFolder('done')).toHaveLength(4)
    expect(await spent()).toBe(20)
  })

  it('stops all files of it while the ledger has an entry that cannot be recorded', async () => {
    for (const name of ['a', 'b']) file(`${name}.jsonl`, recordsOf(name, 1))
    const taken: string[] = []
    await watchOf({
      take: async (_, name) => {
        taken.push(name)
        throw new UnrecordedEntryError('0/1-1 of the ledger cannot be recorded')
      },
    }).poll()
    expect(taken).toEqual(['a.jsonl'])
    expect(failing).toEqual([true])
    expect(counted).toEqual({})
  })

  it('leaves a file that grows while it is read where it is', async () => {
    file('a.jsonl', recordsOf('a', 2))
    const { intake } = scene()
    await watchOf({
      take: async (path, name, fileType, onProgress) => {
        const taken = await takeFile(intake, { path, name, fileType }, onProgress)
        appendFileSync(path, recordsOf('more', 1))
        return taken
      },
    }).poll()
    expect(inFolder('.')).toEqual(['a.jsonl'])
    await watchOf({ keys: openExpiringKeys(redis(), 'other') }).poll()
    expect(reportOf('done/a.jsonl.report.json')).toMatchObject({ charged: 1, duplicates: 2 })
    expect(await spent()).toBe(30)
  })

  it('leaves the marker of the next file of the same name', async () => {
    file('a.jsonl', recordsOf('a', 2))
    file('a.jsonl.ok', '')
    const place = placeWith({
      move: async (listed, to) => {
        const isMoved = await folderPlace().move(listed, to)
        file('a.jsonl', recordsOf('b', 3))
        file('a.jsonl.ok', 'of b')
        return isMoved
      },
    })
    const source = { marker: '.ok', stableMs: undefined }
    await watchOf({ place, source }).poll()
    expect(inFolder('.')).toEqual(['a.jsonl', 'a.jsonl.ok', 'done'])
    await watchOf({ source, keys: openExpiringKeys(redis(), 'other') }).poll()
    expect(inFolder('.')).toEqual(['done'])
    expect(await spent()).toBe(50)
  })

  it('leaves a file that is replaced while its report is written, without a report', async () => {
    file('a.jsonl', recordsOf('a', 2))
    const place = placeWith({
      write: async (name, content) => {
        await folderPlace().write(name, content)
        file('a.jsonl', recordsOf('b', 3))
      },
    })
    await watchOf({ place }).poll()
    expect(inFolder('.')).toEqual(['a.jsonl', 'done'])
    expect(inFolder('done')).toEqual([])
    await watchOf({ keys: openExpiringKeys(redis(), 'other') }).poll()
    expect(reportOf('done/a.jsonl.report.json')).toMatchObject({ charged: 3, duplicates: 0 })
    expect(await spent()).toBe(50)
  })
})

describe('a file that was interrupted', () => {
  /** Another process, which has the lease of one that has ended. */
  const next = (more: Given = {}) => watchOf({ keys: openExpiringKeys(redis(), 'next'), ...more })

  it('is continued after a stop within it', async () => {
    file('a.jsonl', recordsOf('a', 70))
    const ending = new AbortController()
    const { intake } = scene()
    await watchOf({
      signal: ending.signal,
      take: (path, name, fileType, onProgress) =>
        takeFile(intake, { path, name, fileType }, (progress) => {
          if (progress.read > 0) ending.abort()
          onProgress(progress)
        }),
    }).poll()
    expect(counted).toEqual({ 'records charged': 20 })
    expect(inFolder('.')).toEqual(['a.jsonl'])
    await next().poll()
    expect(counted).toEqual({ 'records charged': 70, 'files done': 1 })
    expect(reportOf('done/a.jsonl.report.json')).toMatchObject({ charged: 70, duplicates: 0 })
    expect(await spent()).toBe(700)
  })

  it('is moved by the next process if it was only charged', async () => {
    file('a.jsonl', recordsOf('a', 5))
    const place = placeWith({ move: () => Promise.reject(new Error('killed')) })
    await watchOf({ place }).poll()
    await next().poll()
    expect(inFolder('.')).toEqual(['done'])
    expect(reportOf('done/a.jsonl.report.json')).toMatchObject({ repeated: true, charged: 5 })
    expect(counted).toEqual({ 'records charged': 5, 'files error': 1, 'files repeated': 1 })
    expect(await spent()).toBe(50)
  })

  it('does not replace one of the same name that was taken before', async () => {
    file('a.jsonl', recordsOf('a', 1))
    await watchOf().poll()
    file('a.jsonl', recordsOf('b', 2))
    await next().poll()
    const { file: id } = reportOf('done/a.jsonl.report.json')
    const names = inFolder('done')
    expect(names.filter((name) => name.startsWith('a.jsonl'))).toHaveLength(4)
    const other = names.find((name) => /^a\.jsonl\.[\w-]{22}\.report\.json$/.test(name))
    expect(reportOf(`done/${other}`)).toMatchObject({ charged: 2, name: 'a.jsonl' })
    expect(reportOf(`done/${other}`).file).not.toBe(id)
  })
})

describe('several processes', () => {
  it('leave a source to the one that has its lease, until it stops', async () => {
    const first = watchOf({ signal: stopped() })
    const second = watchOf()
    await first.poll()
    file('a.jsonl', recordsOf('a', 1))
    await second.poll()
    expect(inFolder('.')).toEqual(['a.jsonl'])
    await first.run()
    await second.poll()
    expect(inFolder('.')).toEqual(['done'])
  })

  it('have no waiting files without its lease', async () => {
    const first = watchOf({ source: { stableMs: 60_000 } })
    file('a.jsonl', recordsOf('a', 1))
    await first.poll()
    expect(waiting).toEqual([1])
    await openExpiringKeys(redis(), 'intake').remove('source:calls')
    await watchOf({ source: { pattern: 'none' } }).poll()
    waiting = []
    await first.poll()
    expect(waiting).toEqual([0])
  })
})

describe('a source on an SFTP server', () => {
  const server = useOpenedEach(() =>
    startSftpServer({ folder: root(), user: 'u', password: 'a password' }),
  )

  it('is copied, charged, and moved on the server', async () => {
    mkdirSync(join(root(), 'out'))
    file('out/a.jsonl', recordsOf('a', 3))
    file('out/a.jsonl.ok', '')
    file('out/b.jsonl', recordsOf('b', 3))
    const { port, hostKey } = server()
    const places = { there: { url: `sftp://u@127.0.0.1:${port}/`, hostKey, secret: 's' } }
    const secrets = { s: 'a password' }
    const place = openPlace({ places, secrets, timeoutMs: 20_000 }, 'there')
    await watchOf({ place, source: { folder: 'out', marker: '.ok', stableMs: undefined } }).poll()
    await place.close()
    expect(inFolder('out')).toEqual(['b.jsonl', 'done'])
    expect(reportOf('out/done/a.jsonl.report.json')).toMatchObject({ charged: 3 })
    expect(readdirSync(spool())).toEqual([])
    expect(await spent()).toBe(30)
  })

  it('leaves no copy of a file that cannot be taken, or of a process that has died', async () => {
    file('a.jsonl', recordsOf('a', 3))
    writeFileSync(join(spool(), 'left.part'), 'x')
    const { port, hostKey } = server()
    const places = { there: { url: `sftp://u@127.0.0.1:${port}/`, hostKey, secret: 's' } }
    const secrets = { s: 'a password' }
    const place = openPlace({ places, secrets, timeoutMs: 20_000 }, 'there')
    const copies: string[][] = []
    const take = () => {
      copies.push(readdirSync(spool()))
      return Promise.reject(new Error('cannot be read'))
    }
    await watchOf({ place, take }).poll()
    await place.close()
    expect(copies).toEqual([[expect.stringMatching(/^[\da-f-]{36}$/)]])
    expect(readdirSync(spool())).toEqual([])
    expect(counted).toEqual({ 'files error': 1 })
  })
})
