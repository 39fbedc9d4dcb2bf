/** Opens a place of `transfer.places`. */
import { placeOf } from '../config/places.ts'
import type { Config } from '../config/schema.ts'
import { FolderPlace } from './folder.ts'
import type { TransferPlace } from './place.ts'
import { S3Place } from './s3.ts'
import { SftpPlace } from './sftp.ts'

/** Connects when it is used. Throws `SettingError`. */
export function openPlace(transfer: Config['transfer'], name: string): TransferPlace {
  const { timeoutMs } = transfer
  const place = placeOf(transfer, name)
  if (place.kind === 'folder') return new FolderPlace(place.root)
  if (place.kind === 'sftp') return new SftpPlace({ ...place, timeoutMs })
  return new S3Place({ ...place, timeoutMs })
}
