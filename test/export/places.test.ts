/** Files of lines on other machines: an SFTP server, and storage that checks signatures. */
import { createHash } from 'node:crypto'
import { text as textOf } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import type { TransferPlace } from '../../src/transfer/place.ts'
import { openExportScene } from '../support/export/export-scene.ts'
import { useFolderEach, useOpened, useOpenedEach } from '../support/opened.ts'
import { type OpenedPlace, openS3, openSftp } from '../support/transfer/opened-places.ts'

const scene = useOpened(openExportScene)
beforeEach(() => scene().reset())

/** A place whose next file fails when it is sent. */
interface FailingPlace extends OpenedPlace {
  failNext(): void
}

async function failingSftp(folder: string): Promise<FailingPlace> {
  const { server, ...opened } = await openSftp(folder)
  return { ...opened, failNext: () => server.cutNext() }
}

async function failingS3(): Promise<FailingPlace> {
  const { server, ...opened } = await openS3()
  return { ...opened, failNext: () => server.failNext(503, 'SlowDown') }
}

async function contentOf(place: TransferPlace): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const { name } of await place.list('')) files.set(name, await textOf(await place.read(name)))
  return files
}

/** The lines of all files, by stamp and version; each file is that of its manifest. */
async function exportedTo(place: TransferPlace): Promise<string[]> {
  const files = await contentOf(place)
  const names = [...files.keys()].filter((name) => !name.endsWith('.manifest.json'))
  return names.flatMap((file, index) => {
    const text = files.get(file) ?? ''
    const lines = text.split('\n').filter((line) => line !== '')
    expect(JSON.parse(files.get(`${file}.manifest.json`) ?? '')).toMatchObject({
      ...{ file, sequence: index + 1, lines: lines.length, bytes: Buffer.byteLength(text) },
      sha256: createHash('sha256').update(text).digest('hex'),
    })
    return lines.map((line) => {
      const { stamp, v } = JSON.parse(line)
      return `${stamp} ${v}`
    })
  })
}

describe.each([
  ['SFTP', failingSftp],
  ['S3', failingS3],
] as const)('an export over %s', (_, open) => {
  const folder = useFolderEach()
  const opened = useOpenedEach(() => open(folder()))
  const place = () => ({ place: opened().place })

  it('has each line in one file, and a manifest for each file', async () => {
    for (let second = 1; second <= 5; second += 1) {
      await scene().insert(second, { state: second === 2 ? 'open' : 'ended' })
    }
    await scene().run({ ...place(), settings: { linesMax: 2 } })
    await scene().end('s000002')
    await scene().run(place())
    expect(await exportedTo(opened().place)).toEqual([
      's000001 1',
      's000003 1',
      's000004 1',
      's000005 1',
      's000002 2',
    ])
    expect(await opened().place.list('')).toHaveLength(8)
  })

  it('shows no part of a file that fails, and has the same lines in it later', async () => {
    await scene().insert(1)
    opened().failNext()
    const failed = scene().run({ ...place(), until: 1 })
    // At once, and not when the time for an answer is over.
    const message = expect.not.stringContaining('does not answer')
    await expect(failed).rejects.toMatchObject({ kind: 'unreachable', message })
    expect(await opened().place.list('')).toEqual([])
    await scene().insert(2)
    await scene().run(place())
    expect(await exportedTo(opened().place)).toEqual(['s000001 1', 's000002 1'])
    expect(await opened().place.list('')).toHaveLength(4)
  })

  it('replaces a file whose manifest has failed', async () => {
    await scene().insert(1)
    const { place: real } = opened()
    const write: TransferPlace['write'] = async (name, content) => {
      if (name.endsWith('.manifest.json')) opened().failNext()
      await real.write(name, content)
    }
    const failing = Object.assign(Object.create(real), { write, close: () => real.close() })
    await expect(scene().run({ place: failing, until: 1 })).rejects.toThrow()
    expect([...(await contentOf(real)).keys()]).toEqual(['lines-000000001.jsonl'])
    await scene().run(place())
    expect(await exportedTo(real)).toEqual(['s000001 1'])
  })
})
