/** Places on servers of their own: an SFTP server over a folder, and storage over memory. */
import { openPlace } from '../../../src/transfer/open-place.ts'
import type { TransferPlace } from '../../../src/transfer/place.ts'
import { type S3Server, startS3Server } from './s3-server.ts'
import { type SftpServer, startSftpServer } from './sftp-server.ts'

export interface OpenedPlace {
  place: TransferPlace
  close(): Promise<void>
}

export const TIMEOUT_MS = 20_000
export const PASSWORD = 'a password'
export const S3 = { accessKeyId: 'KEYID', secret: 'a secret key', region: 'test-1', pageSize: 2 }

export async function openSftp(folder: string): Promise<OpenedPlace & { server: SftpServer }> {
  const server = await startSftpServer({ folder, user: 'tollgate', password: PASSWORD })
  const url = `sftp://tollgate@127.0.0.1:${server.port}/`
  const places = { there: { url, hostKey: server.hostKey, secret: 'partner' } }
  const secrets = { partner: PASSWORD }
  const place = openPlace({ places, secrets, timeoutMs: TIMEOUT_MS }, 'there')
  const close = async () => {
    await place.close()
    await server.close()
  }
  return { place, server, close }
}

export async function openS3(): Promise<OpenedPlace & { server: S3Server }> {
  const { accessKeyId, secret, region } = S3
  const server = await startS3Server(S3)
  const common = { endpoint: server.endpoint, region, pathStyle: true, accessKeyId }
  const places = { cloud: { url: 's3://bucket/cdr', ...common, secret: 'cloud' } }
  const secrets = { cloud: secret }
  const place = openPlace({ places, secrets, timeoutMs: TIMEOUT_MS }, 'cloud')
  const close = async () => {
    await place.close()
    await server.close()
  }
  return { place, server, close }
}
