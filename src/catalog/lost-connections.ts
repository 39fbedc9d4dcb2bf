/**
 * Lets a command fail whose connection is lost while the driver writes it.
 *
 * The driver (7.9) waits until the socket has taken the command or reports an error. A socket that
 * the server has closed is destroyed some time before its `close` event: it takes nothing and
 * reports nothing any more. A command sent in between would never end, whatever the time limits of
 * the driver, and would keep its place in the pool; `MongoClient.close` would wait for it.
 */
import { Connection } from 'mongodb/lib/cmap/connection.js'

const { writeCommand } = Connection.prototype

Connection.prototype.writeCommand = function (command, options) {
  return new Promise((resolve, reject) => {
    // Later than the driver's own error, if it has one.
    const fail = () => setImmediate(() => reject(this.error))
    this.once('close', fail)
    writeCommand
      .call(this, command, options)
      .then(resolve, reject)
      .finally(() => this.off('close', fail))
  })
}
