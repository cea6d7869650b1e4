// Writes meta_schema.json: the meta schema of the OpenRPC project, as its package has it.
//
//   npm pack @open-rpc/meta-schema@1.14.9 && tar xzf open-rpc-meta-schema-1.14.9.tgz
//   node make_meta_schema.mjs package/index.js > meta_schema.json
//
// LICENSE.md beside this file is that of the package.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const { openrpcDocument } = createRequire(import.meta.url)(resolve(process.argv[2]));
process.stdout.write(JSON.stringify(openrpcDocument, null, 1) + "\n");
