// Clients in tests have no credentials, and the SDK would look for them on the network.
process.env.METADATA_SERVER_DETECTION = 'none';
