/** Files of lines: each line once, whatever is killed. */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { ObjectId } from '../../src/catalog/collections.ts'
import { exportAgain } from '../../src/catalog/records/usage/export-documents.ts'
import { JobFailedError, JobLostError } from '../../src/jobs/jobs.ts'
import type { TransferPlace } from '../../src/transfer/place.ts'
import { TransferError } from '../../src/transfer/place.ts'
import { dyingCatalog } from '../support/catalog/dying.ts'
import { openExportScene } from '../support/export/export-scene.ts'
import { useOpened } from '../support/opened.ts'

const open = useOpened(openExportScene)
beforeEach(() => open().reset())

describe('a file of lines', () => {
  it('is CSV with the configured fields, and has a manifest', async () => {
    const scene = open()
    await scene.insert(1, {
      plan: 'GOLD "1"',
      called_number: '+4930,1',
      exact: { aprice: '0.1', tax: '0.019', final_charge: '0.119' },
      tax_data: { total_tax: 0.19, taxes: [{ key: 'VAT' }] },
    })
    await scene.insert(2, {
      type: 'credit',
      aprice: 0.2,
      final_charge: 0.2,
      uf: { order: 'A;B' },
    })
    const fields = ['stamp', 'urt', 'plan', 'called_number', 'exact.final_charge', 'uf.order']
    const more = ['tax_data.taxes.0.key', 'tax_data.taxes']
    await scene.run({ settings: { format: 'csv', fields: [...fields, ...more] } })
    expect(scene.files()).toEqual(['lines-000000001.csv'])
    const text = scene.text('lines-000000001.csv')
    expect(text.split('\r\n')).toEqual([
      `${fields.join(',')},${more.join(',')}`,
      's000001,2026-01-01T00:00:01.000Z,"GOLD ""1""","\'+4930,1",0.119,,VAT,' +
        '"[{""key"":""VAT""}]"',
      's000002,2026-01-01T00:00:02.000Z,,,,"A;B",,',
      '',
    ])
    expect(scene.manifest('lines-000000001.csv')).toEqual({
      file: 'lines-000000001.csv',
      sequence: 1,
      format: 'csv',
      fields: [...fields, ...more],
      lines: 2,
      charges: { aprice: '0.3', final_charge: '0.319' },
      first: 's000001',
      last: 's000002',
      bytes: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
    })
    expect(scene.metrics).toMatchObject({ files: 1, lines: 2 })
  })

  it('is lines of JSON, compressed', async () => {
    const scene = open()
    await scene.insert(1, { exact: { final_charge: '1.5' } })
    const fields = ['stamp', 'exact.final_charge', 'plan', 'urt']
    await scene.run({ settings: { gzip: true, fields } })
    expect(scene.files()).toEqual(['lines-000000001.jsonl.gz'])
    expect(gunzipSync(scene.bytes('lines-000000001.jsonl.gz')).toString()).toBe(
      '{"stamp":"s000001","exact.final_charge":"1.5","urt":"2026-01-01T00:00:01.000Z"}\n',
    )
  })

  it('has lines of the configured types, plans and rates', async () => {
    const scene = open()
    await scene.insert(1, { plan: 'A', arate_key: 'R' })
    await scene.insert(2, { plan: 'B', arate_key: 'R' })
    await scene.insert(3, { plan: 'A', arate_key: 'S' })
    await scene.insert(4, { plan: 'A', arate_key: 'R', type: 'credit' })
    await scene.run({ settings: { plans: ['A'], rates: ['R'], types: ['realtime'] } })
    expect(scene.exported()).toEqual(['s000001 1'])
  })

  it('ends at the limit, and the next one follows', async () => {
    const scene = open()
    for (let second = 1; second <= 5; second += 1) await scene.insert(second)
    await scene.run({ settings: { linesMax: 2 } })
    expect(scene.files()).toEqual([1, 2, 3].map((seq) => `lines-00000000${seq}.jsonl`))
    expect(scene.exported()).toEqual([1, 2, 3, 4, 5].map((second) => `s00000${second} 1`))
    expect(scene.manifest('lines-000000003.jsonl')).toMatchObject({ lines: 1, sequence: 3 })
  })

  it('is not written without lines', async () => {
    const scene = open()
    const dueMs = await scene.run()
    expect(scene.files()).toEqual([])
    expect((dueMs ?? 1) % 3_600_000).toBe(0)
    await scene.insert(1)
    await scene.run()
    expect(scene.files()).toEqual([])
    expect(await scene.catalog.exports.findOne()).toMatchObject({ seq: 0 })
  })

  it('is refused with a field that no line has', async () => {
    const wrong = ['stamp', 'tax_data.totaltax']
    await expect(open().run({ settings: { fields: wrong } })).rejects.toThrow(
      new JobFailedError('export.fields: tax_data.totaltax is not a field of lines'),
    )
  })
})

describe('the position', () => {
  it('passes no line that is younger than the delay', async () => {
    const scene = open()
    await scene.insert(1)
    // As the recorder does it: MongoDB gives it the id.
    const filter = { stamp: 'young', v: { $lt: 1 } }
    const young = { stamp: 'young', v: 1, type: 'realtime', state: 'ended' } as never
    await scene.catalog.lines.replaceOne(filter, young, { upsert: true })
    await scene.run()
    expect(scene.exported()).toEqual(['s000001 1'])
    await scene.catalog.exports.updateOne({ _id: 'lines' }, { $unset: { looked: '' } })
    await scene.run({ settings: { delayMs: -60_000 } })
    expect(scene.exported()).toEqual(['s000001 1', 'young 1'])
    // A clock that was set back.
    await scene.run()
    const { after } = (await scene.catalog.exports.findOne()) ?? {}
    expect(after?.getTimestamp().getTime()).toBe(scene.metrics.untilMs)
    expect(scene.exported()).toHaveLength(2)
  })

  it('leaves the lines of open segments, which follow when they have ended', async () => {
    const scene = open()
    await scene.insert(1, { state: 'open' })
    await scene.insert(2)
    await scene.insert(3, { state: 'open' })
    await scene.run()
    await scene.run()
    expect(scene.exported()).toEqual(['s000002 1'])
    await scene.end('s000003')
    await scene.run()
    await scene.end('s000001')
    await scene.run()
    await scene.run()
    expect(scene.exported()).toEqual(['s000002 1', 's000003 2', 's000001 2'])
    expect(scene.files()).toHaveLength(3)
    expect(await scene.catalog.exportwaiting.countDocuments({})).toBe(0)
  })

  it('has changed lines exported again, also while their file is being written', async () => {
    const scene = open()
    await scene.insert(1)
    await scene.run()
    const change = async () => {
      await scene.catalog.lines.updateOne({ stamp: 's000001' }, { $inc: { v: 1 } })
      await scene.catalog.exportwaiting.bulkWrite([exportAgain('s000001')])
    }
    await change()
    await scene.run({ place: { ...bound(scene.place), write: onFirst(scene.place, change) } })
    await scene.run()
    expect(scene.exported()).toEqual(['s000001 1', 's000001 2', 's000001 3'])
  })

  it('forgets lines that were removed while they waited', async () => {
    const scene = open()
    await scene.insert(1, { state: 'open' })
    await scene.run()
    await scene.catalog.lines.deleteMany({})
    await scene.run()
    await scene.run()
    expect(await scene.catalog.exportwaiting.countDocuments({})).toBe(0)
    expect(scene.files()).toEqual([])
  })

  it('stays if another process has claimed the job meanwhile', async () => {
    const scene = open()
    await scene.insert(1)
    const claim = () =>
      scene.catalog.jobs.updateOne({ active: 'export/lines' }, { $set: { token: 'other' } })
    const place = { ...bound(scene.place), write: onFirst(scene.place, claim) }
    await expect(scene.run({ place })).rejects.toThrow(JobLostError)
    const { seq, planned } = (await scene.catalog.exports.findOne()) ?? {}
    expect(seq).toBe(0)
    expect(planned).toMatchObject({ to: expect.any(ObjectId) })
    // The other process may have written another file of this number.
    expect(await scene.place.stat('lines-000000001.jsonl.manifest.json')).toBeNull()
    await scene.run()
    expect(scene.exported()).toEqual(['s000001 1'])
  })
})

describe('a repetition', () => {
  it('writes the same file when a place has refused it', async () => {
    const scene = open()
    await scene.insert(1)
    await scene.insert(2, { state: 'open' })
    let until = 2
    for (const name of ['lines-000000001.jsonl', 'lines-000000001.jsonl.manifest.json']) {
      const place = {
        ...bound(scene.place),
        write: async (...[file, content]: Parameters<TransferPlace['write']>) => {
          if (file === name) throw new TransferError('disk full', 'the disk is full')
          await scene.place.write(file, content)
        },
      }
      await expect(scene.run({ place, until })).rejects.toThrow('the disk is full')
      // Neither belongs to the planned file.
      await scene.end('s000002')
      until += 1
      await scene.insert(until)
    }
    await scene.run()
    expect(scene.files()).toEqual(['lines-000000001.jsonl', 'lines-000000002.jsonl'])
    expect(scene.exported()).toEqual(['s000001 1', 's000002 2', 's000003 1', 's000004 1'])
  })

  it('keeps the number and the name, also without lines or with other settings', async () => {
    const scene = open()
    await scene.insert(1)
    await scene.passed(1)
    const place = {
      ...bound(scene.place),
      write: async (...[file, content]: Parameters<TransferPlace['write']>) => {
        if (file.endsWith('.json')) throw new TransferError('disk full', 'the disk is full')
        await scene.place.write(file, content)
      },
    }
    await expect(scene.run({ place, until: 1 })).rejects.toThrow('the disk is full')
    // It belongs to the next file now, and not to the planned one.
    await scene.catalog.exportwaiting.bulkWrite([exportAgain('s000001')])
    await scene.run({ settings: { format: 'csv', gzip: true, linesMax: 1 }, until: 1 })
    expect(scene.files()).toEqual(['lines-000000001.jsonl', 'lines-000000002.csv.gz'])
    expect(scene.manifest('lines-000000001.jsonl')).toMatchObject({ format: 'jsonl', lines: 0 })
    expect(scene.manifest('lines-000000002.csv.gz')).toMatchObject({ sequence: 2, lines: 1 })
  })

  it('misses no line and writes none twice, wherever the process was killed', async () => {
    const scene = open()
    let killed = 0
    for (let writes = 0; ; writes += 1) {
      await scene.reset()
      await scene.insert(1)
      await scene.passed(1)
      for (let second = 2; second <= 5; second += 1) {
        await scene.insert(second, { state: second === 3 ? 'open' : 'ended' })
      }
      const settings = { linesMax: 3 }
      let done = 0
      // Before the next write: reads before it have no effect.
      const dying = await dyingCatalog(scene.mongo, (command) => {
        if (WRITE.test(command)) done += 1
        return done > writes
      })
      await scene.run({ settings, until: 5, catalog: dying.catalog }).catch(() => undefined)
      const hasDied = dying.died()
      await dying.close()
      const before = scene.exported()
      expect(new Set(before).size).toBe(before.length)
      await scene.end('s000003')
      await scene.insert(6)
      await scene.run({ settings })
      await scene.run({ settings })
      const stamps = scene.exported().map((line) => line.split(' ')[0])
      expect(stamps.toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((second) => `s00000${second}`))
      expect(scene.files()).toEqual(
        scene.files().map((_, index) => `lines-00000000${index + 1}.jsonl`),
      )
      for (const name of scene.files()) {
        const lines = scene.text(name).split('\n').length - 1
        expect(scene.manifest(name)).toMatchObject({ file: name, lines })
      }
      if (!hasDied) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(15)
  })
})

const WRITE = /^(?:insert|update|delete|findAndModify|commitTransaction)\b/

type Write = TransferPlace['write']

/** The methods of a place, to replace some. */
function bound(place: TransferPlace): TransferPlace {
  return {
    label: place.label,
    list: (folder) => place.list(folder),
    stat: (name) => place.stat(name),
    localPath: (name) => place.localPath(name),
    read: (name) => place.read(name),
    write: (name, content) => place.write(name, content),
    move: (listed, to) => place.move(listed, to),
    remove: (name) => place.remove(name),
    close: () => place.close(),
  }
}

/** Does something when the first file is to be written. */
function onFirst(place: TransferPlace, act: () => Promise<unknown>): Write {
  let isFirst = true
  return async (name, content) => {
    if (isFirst) await act()
    isFirst = false
    await place.write(name, content)
  }
}
