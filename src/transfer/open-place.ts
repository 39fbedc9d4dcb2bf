/** Opens a place of `transfer.places`. */
import { type TSchema, Type } from '@sinclair/typebox'
import type { Config } from '../config/schema.ts'
import { FolderPlace } from './folder.ts'
import type { TransferPlace } from './place.ts'
import { S3Place } from './s3.ts'
import { settingsAt, TransferSettingsError } from './settings.ts'
import { SftpPlace } from './sftp.ts'

const settings = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

const text = () => Type.String({ minLength: 1, maxLength: 1024 })

const FOLDER = settings({ url: text() })
const SFTP = settings({
  url: text(),
  hostKey: Type.String({ pattern: '^SHA256:[A-Za-z0-9+/]{43}$' }),
  secret: text(),
})
const S3 = settings({
  url: text(),
  endpoint: Type.String({ pattern: '^https?://[^/@?#]+/?$' }),
  region: text(),
  pathStyle: Type.Optional(Type.Boolean()),
  accessKeyId: text(),
  secret: text(),
})

/** Checks the settings; connects when it is used. Throws `TransferSettingsError`. */
export function openPlace(transfer: Config['transfer'], name: string): TransferPlace {
  const place = transfer.places[name]
  if (place === undefined) {
    throw new TransferSettingsError(`transfer.places has no place named '${name}'`)
  }
  const at = `transfer.places.${name}`
  const refuse = (reason: string): never => {
    throw new TransferSettingsError(`${at}${reason}`)
  }
  const url = urlOf(place) ?? refuse('.url must be file:///…, sftp://user@host/… or s3://bucket/…')
  if (url.password !== '' || url.search !== '' || url.hash !== '') {
    return refuse('.url must have no password, query or fragment')
  }
  const checked = <T extends TSchema>(schema: T) => settingsAt(schema, place, at)
  const secretNamed = (secret: string): string =>
    transfer.secrets[secret] ?? refuse(`.secret names none of transfer.secrets`)
  const decoded = (text: string): string => {
    try {
      return decodeURIComponent(text)
    } catch {
      return refuse('.url has a % that encodes nothing')
    }
  }
  const path = decoded(url.pathname)
  const { timeoutMs } = transfer
  if (url.protocol === 'file:') {
    checked(FOLDER)
    return url.host === '' ? new FolderPlace(path) : refuse('.url must be file:///path')
  }
  if (url.protocol === 'sftp:') {
    const { hostKey, secret } = checked(SFTP)
    if (url.hostname === '' || url.username === '') refuse('.url must be sftp://user@host/path')
    return new SftpPlace({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? 22 : Number(url.port),
      user: decoded(url.username),
      root: path.startsWith('/~/') ? path.slice('/~/'.length) : path,
      ...{ hostKey, secret: secretNamed(secret), timeoutMs },
    })
  }
  const { endpoint, region, pathStyle = false, accessKeyId, secret } = checked(S3)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) refuse('.url must have a bucket')
  return new S3Place({
    bucket: url.hostname,
    prefix: path.replace(/^\/+|\/+$/g, '').replace(/.$/, '$&/'),
    ...{ endpoint, region, pathStyle, accessKeyId, secret: secretNamed(secret), timeoutMs },
  })
}

function urlOf(place: unknown): URL | null {
  const url = typeof place === 'object' && place !== null && 'url' in place ? place.url : null
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const parsed = new URL(url)
  return ['file:', 'sftp:', 's3:'].includes(parsed.protocol) ? parsed : null
}
