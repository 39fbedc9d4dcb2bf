/** Places of files: a folder, a real SFTP server, and storage that checks signatures. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import { FILE_MODE, FOLDER_MODE } from '../../src/runtime/file-modes.ts'
import { openPlace } from '../../src/transfer/open-place.ts'
import { download, type PlaceFile, type TransferPlace } from '../../src/transfer/place.ts'
import { useFolder, useFolderEach, useOpened, useOpenedEach } from '../support/opened.ts'
import {
  type OpenedPlace,
  openS3,
  openSftp,
  PASSWORD,
  S3,
  TIMEOUT_MS,
} from '../support/transfer/opened-places.ts'
import { startS3Server } from '../support/transfer/s3-server.ts'
import { sshKeys, startSftpServer } from '../support/transfer/sftp-server.ts'

async function openFolder(folder: string): Promise<OpenedPlace> {
  const places = { here: { url: `file://${folder}` } }
  const place = openPlace({ places, secrets: {}, timeoutMs: TIMEOUT_MS }, 'here')
  return { place, close: () => place.close() }
}

const bytes = (text: string) => ({ bytes: Buffer.from(text) })

async function contentOf(place: TransferPlace, name: string): Promise<string> {
  return textOf(await place.read(name))
}

describe.each([
  ['a folder', openFolder],
  ['SFTP', openSftp],
  ['S3', openS3],
] as const)('%s', (_, open) => {
  const folder = useFolderEach()
  const local = useFolder()
  const opened = useOpenedEach(() => open(folder()))
  const place = () => opened().place
  const listed = async (name: string) => (await place().stat(name)) as PlaceFile

  it('lists complete files by name, with size and time, and no folders', async () => {
    for (const name of ['b.csv', 'a.csv', 'c d+e&(ü).csv', 'done/z.csv']) {
      await place().write(name, bytes(`of ${name}`))
    }
    await place().write('.hidden', bytes('x'))
    const files = await place().list('')
    expect(files.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
      ['a.csv', 8],
      ['b.csv', 8],
      ['c d+e&(ü).csv', Buffer.byteLength('of c d+e&(ü).csv')],
    ])
    expect(files.every(({ modifiedMs }) => modifiedMs > 1_500_000_000_000)).toBe(true)
    expect((await place().list('done')).map(({ name }) => name)).toEqual(['done/z.csv'])
    expect(await place().list('nowhere')).toEqual([])
  })

  it('has the same size and time in a list and alone', async () => {
    await place().write('a.csv', bytes('1'))
    expect(await place().list('')).toEqual([await place().stat('a.csv')])
  })

  it('reads what was written, from bytes and from a file', async () => {
    const large = 'x'.repeat(300_000)
    const path = join(local, 'large')
    writeFileSync(path, large)
    await place().write('in/large', { path })
    await place().write('empty', bytes(''))
    await download(place(), 'in/large', join(local, 'copy'))
    expect(readFileSync(join(local, 'copy'), 'utf8') === large).toBe(true)
    expect(await contentOf(place(), 'empty')).toBe('')
  })

  it('replaces a file, also by a move, and removes it', async () => {
    await place().write('a', bytes('1'))
    await place().write('a', bytes('22'))
    await place().write('done/a', bytes('old'))
    expect(await place().move(await listed('a'), 'done/a')).toBe(true)
    expect(await place().stat('a')).toBeNull()
    expect(await place().stat('done/a')).toMatchObject({ name: 'done/a', sizeBytes: 2 })
    expect(await contentOf(place(), 'done/a')).toBe('22')
    await place().remove('done/a')
    await place().remove('done/a')
    expect(await place().stat('done/a')).toBeNull()
  })

  it('says which file is missing', async () => {
    const error = { name: 'TransferError', kind: 'missing' }
    await expect(place().read('none')).rejects.toMatchObject(error)
    await expect(place().read('none')).rejects.toThrow(/none/)
  })

  it('does not move a file that was replaced', async () => {
    await place().write('a', bytes('1'))
    const before = await listed('a')
    await place().write('a', bytes('22'))
    expect(await place().move(before, 'done/a')).toBe(false)
    expect(await place().move({ ...before, name: 'none' }, 'done/a')).toBe(false)
    expect(await contentOf(place(), 'a')).toBe('22')
    expect(await place().stat('done/a')).toBeNull()
  })

  it('leaves its root by no name', async () => {
    for (const name of ['../a', '/a', 'a/../../b', 'a//b', '', 'a\n']) {
      await expect(place().write(name, bytes('x'))).rejects.toThrow(/is not a file name/)
    }
  })
})

describe('a folder', () => {
  const folder = useFolder()

  it('is not created: it may be a disk that is not mounted', async () => {
    const { place } = await openFolder(join(folder, 'unmounted'))
    const error = { name: 'TransferError', kind: 'missing' }
    await expect(place.list('')).rejects.toMatchObject(error)
    await expect(place.list('in')).rejects.toMatchObject(error)
    await expect(place.write('a/b', bytes('x'))).rejects.toMatchObject(error)
  })

  it('has files and folders that others cannot read, whatever the mode of the source', async () => {
    const { place } = await openFolder(folder)
    const path = join(folder, 'draft')
    writeFileSync(path, '1', { mode: 0o600 })
    await place.write('out/a', { path })
    await place.write('out/b', bytes('1'))
    const modes = ['out/a', 'out/b', 'out'].map((name) => statSync(join(folder, name)).mode & 0o777)
    const given = [FILE_MODE, FILE_MODE, FOLDER_MODE].map((mode) => mode & ~process.umask())
    expect(modes).toEqual(given)
  })

  it('may be written by two at once: the file is that of one of them', async () => {
    const { place } = await openFolder(folder)
    const texts = ['1', '2'].map((letter) => letter.repeat(300_000))
    await Promise.all(texts.map((text) => place.write('both', bytes(text))))
    expect(texts).toContain(await contentOf(place, 'both'))
  })

  it('has no unread file moved, whenever it is replaced', async () => {
    const { place } = await openFolder(folder)
    const [path, moved] = [join(folder, 'race'), join(folder, 'done/race')]
    const replace = (text: string) => {
      writeFileSync(`${path}.part`, text)
      renameSync(`${path}.part`, path)
    }
    let kept = 0
    for (let turn = 0; turn < 200; turn += 1) {
      replace('old')
      const listed = (await place.stat('race')) as PlaceFile
      const moving = place.move(listed, 'done/race')
      for (let left = turn % 40; left > 0; left -= 1) await new Promise(setImmediate)
      replace('newer')
      const isMoved = await moving
      const found = [path, moved].map((each) => existsSync(each) && readFileSync(each, 'utf8'))
      expect(found, `turn ${turn}`).toEqual(['newer', isMoved ? 'old' : false])
      if (!isMoved) kept += 1
      await place.remove('done/race')
    }
    expect(kept).toBeGreaterThan(0)
  })

  it('flushes each folder that a rename changes: a power failure leaves the file', async () => {
    const { place } = await openFolder(folder)
    await place.write('from/a', bytes('1'))
    const handle = await open(folder)
    const files = Object.getPrototypeOf(handle) as FileHandle
    await handle.close()
    const flushed: string[] = []
    const { sync } = files
    const spy = vi.spyOn(files, 'sync').mockImplementation(function (this: FileHandle) {
      flushed.push(relative(folder, readlinkSync(`/proc/self/fd/${this.fd}`)))
      return sync.call(this)
    })
    await place.move((await place.stat('from/a')) as PlaceFile, 'to/deep/a')
    expect(flushed).toEqual(['', 'to', 'to/deep', 'from'])
    flushed.length = 0
    await place.move((await place.stat('to/deep/a')) as PlaceFile, 'to/deep/b')
    expect(flushed).toEqual(['to/deep'])
    spy.mockRestore()
  })

  it('says where a file is, so that it need not be copied', async () => {
    const { place } = await openFolder(folder)
    expect(place.localPath('in/a')).toBe(join(folder, 'in/a'))
  })
})

describe('an SFTP server', () => {
  const folder = useFolder()
  const server = useOpened(() => startSftpServer({ folder, user: 'tollgate', password: PASSWORD }))

  const placeWith = (
    change: Record<string, unknown>,
    secret = PASSWORD,
    timeoutMs = TIMEOUT_MS,
  ) => {
    const { port, hostKey } = server()
    const url = `sftp://tollgate@127.0.0.1:${port}/`
    const places = { there: { url, hostKey, secret: 'partner', ...change } }
    return openPlace({ places, secrets: { partner: secret }, timeoutMs }, 'there')
  }

  it('with another host key receives no password', async () => {
    const before = server().logins.length
    const place = placeWith({ hostKey: `SHA256:${'A'.repeat(43)}` })
    const error = await place.list('').catch((caught: unknown) => caught)
    expect(error).toMatchObject({ name: 'TransferError', kind: 'refused' })
    expect(String(error)).toContain(server().hostKey)
    expect(server().logins.length).toBe(before)
  })

  it('refuses a wrong password, which no error shows', async () => {
    const error = await placeWith({}, 'wrong one')
      .list('')
      .catch((caught: Error) => caught)
    expect(error).toMatchObject({ kind: 'refused' })
    expect(String(error)).not.toContain('wrong one')
  })

  it('takes a private key instead of a password', async () => {
    const { privateKey, publicKey } = sshKeys()
    const allowed = { user: 'tollgate', password: PASSWORD, publicKey }
    const withKey = await startSftpServer({ folder, ...allowed })
    const url = `sftp://tollgate@127.0.0.1:${withKey.port}/`
    const place = placeWith({ url, hostKey: withKey.hostKey }, privateKey)
    await place.list('')
    expect(withKey.logins.at(-1)).toBe('publickey')
    await place.close()
    await withKey.close()
  })

  it('refuses another private key, and one that cannot be read', async () => {
    const listed = (secret: string) => placeWith({}, secret).list('')
    const error = (secret: string) => listed(secret).catch((caught) => caught)
    expect(await error(sshKeys().privateKey)).toMatchObject({ kind: 'refused' })
    const broken = await error('-----BEGIN OPENSSH PRIVATE KEY-----\nhidden\n')
    expect(broken).toMatchObject({ name: 'TransferError', kind: 'refused' })
    expect(String(broken)).not.toContain('hidden')
  })

  it('is connected again after it has closed the connection', async () => {
    mkdirSync(join(folder, 'in'))
    writeFileSync(join(folder, 'in', 'a'), '1')
    const place = placeWith({ url: `sftp://tollgate@127.0.0.1:${server().port}/in` })
    expect(await place.list('')).toHaveLength(1)
    server().dropConnections()
    await expect.poll(() => place.list('').catch(() => [])).toHaveLength(1)
    await place.close()
  })

  it('is connected again after it has closed only the channel', async () => {
    writeFileSync(join(folder, 'c'), '1')
    const place = placeWith({})
    expect(await place.stat('c')).toMatchObject({ name: 'c' })
    server().dropChannels()
    await expect
      .poll(() => place.stat('c').catch(() => null), { timeout: TIMEOUT_MS })
      .toMatchObject({ name: 'c' })
    await place.close()
  })

  it('that answers no request is unreachable', async () => {
    const silent = await startSftpServer({ folder, user: 'tollgate', password: PASSWORD })
    const url = `sftp://tollgate@127.0.0.1:${silent.port}/`
    const place = placeWith({ url, hostKey: silent.hostKey }, PASSWORD, 1_000)
    await expect.poll(() => place.stat('none').catch(() => undefined)).toBeNull()
    silent.silence()
    const error = { kind: 'unreachable', message: expect.stringContaining('does not answer') }
    await expect(place.stat('none')).rejects.toMatchObject(error)
    await expect(place.list('')).rejects.toMatchObject(error)
    await place.close()
    await silent.close()
  })

  it('has a file that is replaced while it is moved put back', async () => {
    const place = placeWith({})
    await place.write('a', bytes('1'))
    const listed = (await place.stat('a')) as PlaceFile
    server().beforeRename(() => writeFileSync(join(folder, 'a'), '22'))
    expect(await place.move(listed, 'done/a')).toBe(false)
    expect([await contentOf(place, 'a'), await place.stat('done/a')]).toEqual(['22', null])
    await place.close()
  })

  it('has files that others cannot read', async () => {
    const place = placeWith({})
    await place.write('private', bytes('1'))
    expect(statSync(join(folder, 'private')).mode & 0o777).toBe(0o640)
    await place.close()
  })

  it('that is not there is unreachable', async () => {
    const place = placeWith({ url: 'sftp://tollgate@127.0.0.1:1/' })
    await expect(place.list('')).rejects.toMatchObject({ kind: 'unreachable' })
  })
})

describe('S3', () => {
  const local = useFolderEach()
  const server = useOpened(() => startS3Server(S3))

  const placeWith = (change: Record<string, unknown>, secret = S3.secret) => {
    const { accessKeyId, region } = S3
    const common = { endpoint: server().endpoint, region, pathStyle: true, accessKeyId }
    const places = { cloud: { url: 's3://bucket', ...common, secret: 'cloud', ...change } }
    return openPlace({ places, secrets: { cloud: secret }, timeoutMs: TIMEOUT_MS }, 'cloud')
  }

  it('refuses another secret key, which no error shows', async () => {
    const error = await placeWith({}, 'wrong one')
      .list('')
      .catch((caught: Error) => caught)
    expect(error).toMatchObject({ kind: 'refused' })
    expect(String(error)).toMatch(/SignatureDoesNotMatch/)
    expect(String(error)).not.toContain('wrong one')
  })

  it.each([
    [503, 'SlowDown', 'unreachable'],
    [403, 'AccessDenied', 'refused'],
    [200, 'InternalError', 'failed'],
  ] as const)('reports status %i %s of a copy, and removes nothing', async (status, code, kind) => {
    const place = placeWith({})
    await place.write('a', bytes('1'))
    const listed = (await place.stat('a')) as PlaceFile
    server().failNext(status, code, 'PUT')
    const error = { kind, message: `s3://bucket/a: status ${status} ${code}` }
    await expect(place.move(listed, 'b')).rejects.toMatchObject(error)
    expect([...server().objects.keys()]).toEqual(['bucket/a'])
    await place.close()
  })

  it.each([
    ['a copy', 'PUT', false, null],
    ['a removal', 'DELETE', true, '1'],
  ] as const)('keeps a content that comes before %s', async (_, method, isMoved, moved) => {
    const place = placeWith({ url: 's3://bucket/moves' })
    const { objects } = server()
    await place.write('a', bytes('1'))
    const listed = (await place.stat('a')) as PlaceFile
    server().beforeNext(method, () => objects.set('bucket/moves/a', Buffer.from('2')))
    expect(await place.move(listed, 'b')).toBe(isMoved)
    expect(await contentOf(place, 'a')).toBe('2')
    expect(objects.get('bucket/moves/b')?.toString() ?? null).toBe(moved)
    objects.clear()
    await place.close()
  })

  it('that knows no conditional removal has the file removed all the same', async () => {
    const place = placeWith({})
    await place.write('a', bytes('1'))
    server().failNext(501, 'NotImplemented', 'DELETE')
    expect(await place.move((await place.stat('a')) as PlaceFile, 'b')).toBe(true)
    expect([...server().objects.keys()]).toEqual(['bucket/b'])
    server().objects.clear()
    await place.close()
  })

  it('lists keys that XML cannot have', async () => {
    server().objects.set('bucket/odd/a\u0001+ b', Buffer.from('1'))
    const place = placeWith({ url: 's3://bucket/odd' })
    expect((await place.list('')).map(({ name }) => name)).toEqual(['a\u0001+ b'])
    await place.close()
  })

  it('reports a list that does not end', async () => {
    const endless = await startS3Server({ ...S3, pageSize: 0 })
    endless.objects.set('bucket/a', Buffer.from('1'))
    const place = placeWith({ endpoint: endless.endpoint })
    const error = { kind: 'failed', message: 's3://bucket/: the list repeats a page' }
    await expect(place.list('')).rejects.toMatchObject(error)
    await place.close()
    await endless.close()
  })

  it('that ends the connection within a file is unreachable', async () => {
    const place = placeWith({})
    await place.write('large', bytes('x'.repeat(100_000)))
    server().cutNext()
    const error = { kind: 'unreachable', message: expect.stringMatching(/^s3:\/\/bucket\/large: /) }
    await expect(download(place, 'large', join(local(), 'copy'))).rejects.toMatchObject(error)
    await place.close()
  })

  it('names a bucket that does not exist', async () => {
    const error = { kind: 'missing', message: 's3://other/: status 404 NoSuchBucket' }
    await expect(placeWith({ url: 's3://other' }).list('')).rejects.toMatchObject(error)
  })
})
