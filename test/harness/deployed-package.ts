import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../../emulator/src';
import { DEPLOY_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from '../../dev/run/deployed';
import { sendRequest } from '../../dev/run/http';
import { operations, type OperationName } from '../../dev/run/operations';
import { readDeclaredIndexes } from './firestore';
import { writeMarket } from './price-lists';

export const DEPLOYED_KEY = 'test-key-1';

export const DEPLOYED_HEADERS = { 'x-api-key': DEPLOYED_KEY, 'content-type': 'application/json' };

/** A Firestore with a market, and the functions of the deploy package that use this Firestore. Each function has its own process. */
export type DeployedPackage = Awaited<ReturnType<typeof startDeployedPackage>>;

/** @param folder the deploy package. @param clock returns the time of Firestore */
export async function startDeployedPackage({ folder = DEPLOY_PACKAGE, clock = Date.now } = {}) {
  const firestore = await startFirestore({ indexes: readDeclaredIndexes(), clock });
  const db = new Firestore({ projectId: PROJECT, host: firestore.address, ssl: false });
  await writeMarket(db);
  const started: DeployedFunction[] = [];
  return {
    firestore,
    db,
    /** Starts a function. @param env variables that add to those of every function, or replace them */
    start: async (name: OperationName | 'sweepPriceLists', env: Record<string, string> = {}) => {
      const deployed = await startDeployedFunction(folder, name, {
        API_KEY: DEPLOYED_KEY,
        CORS_ALLOWED_ORIGINS: '',
        FIRESTORE_EMULATOR_HOST: firestore.address,
        METADATA_SERVER_DETECTION: 'none',
        ...env,
      });
      started.push(deployed);
      return deployed;
    },
    /** Ends all functions, and then Firestore. */
    close: async () => {
      await Promise.all(started.map(({ stop }) => stop()));
      await db.terminate();
      await firestore.close();
    },
  };
}

/** Sends a request with a valid API key to a function of the deploy package. */
export const sendTo = ({ port }: DeployedFunction, name: OperationName, json?: unknown) =>
  sendRequest(port, {
    method: operations[name].method,
    headers: DEPLOYED_HEADERS,
    body: json === undefined ? '' : JSON.stringify(json),
  });

/** Returns the lines of an event that a function has logged. */
export const getLogged = ({ output }: DeployedFunction, event: string) =>
  output
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
